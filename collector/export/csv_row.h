// SPDX-License-Identifier: Apache-2.0
// Rows of CSV in the format of RFC 4180: CRLF, quotes doubled.
#ifndef ROLLCALL_COLLECTOR_EXPORT_CSV_ROW_H_
#define ROLLCALL_COLLECTOR_EXPORT_CSV_ROW_H_

#include <initializer_list>
#include <ostream>
#include <string>

namespace rollcall {

// Errors of `out` are left in its state.
void WriteCsvRow(std::initializer_list<std::string> fields, std::ostream* out);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_CSV_ROW_H_
