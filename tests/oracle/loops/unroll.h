// SPDX-License-Identifier: Apache-2.0
// What each rank of a program executes: its calls in their order, with their call paths.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_UNROLL_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_UNROLL_H_

#include <string>
#include <vector>

#include "tests/oracle/loops/program.h"

namespace rollcall::oracle::loops {

// A call at a place, of one rank.
struct Made {
  const Call* call = nullptr;  // in the program
  std::string place;           // the call path as in a text trace: "main:20 > exchange:88"
};

struct Code {
  std::vector<Made> made;  // distinct ones
  std::vector<int> order;  // of execution, as indices of `made`
};

// By rank. The program must stay where it is while the result is used. Throws std::logic_error for
// a program that no compiler accepts: a break outside loops, an exception that nobody catches.
std::vector<Code> Unroll(const Program& program);

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_UNROLL_H_
