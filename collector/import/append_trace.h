// SPDX-License-Identifier: Apache-2.0
// Joins two traces of different jobs.
#ifndef ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_
#define ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_

#include "collector/model/trace.h"

namespace rollcall {

// Appends all elements of `from` to `to` with adjusted indices; nothing is merged.
void AppendTrace(Trace from, Trace* to);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_
