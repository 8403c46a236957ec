// SPDX-License-Identifier: Apache-2.0
// The codes of the problems of an input, without their texts.
#ifndef ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_
#define ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_

#include <vector>

#include "collector/model/problem.h"

namespace rollcall {

// In the order of the problems.
inline std::vector<ProblemCode> Codes(const std::vector<Problem>& problems) {
  std::vector<ProblemCode> codes;
  for (const Problem& problem : problems) codes.push_back(problem.code);
  return codes;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_
