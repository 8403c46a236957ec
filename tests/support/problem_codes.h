// What the problems of an input are, whatever they say.
#ifndef ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_
#define ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_

#include <vector>

#include "collector/model/problem.h"

namespace rollcall {

// In their order.
inline std::vector<ProblemCode> Codes(const std::vector<Problem>& problems) {
  std::vector<ProblemCode> codes;
  for (const Problem& problem : problems) codes.push_back(problem.code);
  return codes;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_PROBLEM_CODES_H_
