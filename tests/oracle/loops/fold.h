// SPDX-License-Identifier: Apache-2.0
// Shortens the text of a trace: what is repeated is written once.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_FOLD_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_FOLD_H_

#include <string>
#include <vector>

namespace rollcall::oracle::loops {

// Returns the lines in their order, with `repeat N` … `end` around those that are repeated at once.
// `order` has indices into `lines`.
std::string Fold(const std::vector<std::string>& lines, const std::vector<int>& order);

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_FOLD_H_
