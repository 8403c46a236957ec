// SPDX-License-Identifier: Apache-2.0
// Explores everything that can follow from a state.
#ifndef ROLLCALL_TESTS_ORACLE_EXPLORE_H_
#define ROLLCALL_TESTS_ORACLE_EXPLORE_H_

#include <cstddef>
#include <vector>

#include "tests/oracle/machine.h"

namespace rollcall::oracle {

struct Outcome {
  bool some_complete = false;   // in some order every rank completes
  bool every_complete = true;   // in every order every rank completes
  std::vector<bool> can_move;   // by line: in some order it leaves its current operation
  std::vector<bool> must_move;  // by line: in every order it does
  size_t states = 0;
  bool bounded = false;  // too many states: the results above are undecided
};

// `resume`: stalled ranks may continue.
//
// `all_orders` takes the possible steps in every order. Otherwise a step that is not a choice is
// taken at once, without exploring the others first: it makes no other step impossible and stays
// possible, so that it occurs in every order. The choices are wildcard receives, which are decided
// when no other step is possible, so that every message that can be available is available; and
// mismatched calls, which block others if they are entered early enough. Both methods give the same
// outcome: see oracle_test.cc.
Outcome Explore(const Machine& machine, const State& start, Library library, bool resume,
                bool all_orders = false);

// Explores the same for every possible decision of a library that decides for each operation
// whether to buffer the send or to synchronise the collective.
Outcome ExploreLibraries(const Machine& machine, const State& start);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_EXPLORE_H_
