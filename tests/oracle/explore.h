// Tries out everything that can become of a state.
#ifndef ROLLCALL_TESTS_ORACLE_EXPLORE_H_
#define ROLLCALL_TESTS_ORACLE_EXPLORE_H_

#include <cstddef>
#include <vector>

#include "tests/oracle/machine.h"

namespace rollcall::oracle {

struct Outcome {
  bool some_complete = false;   // there is a way in which every rank comes to its end
  bool every_complete = true;   // there is no other way
  std::vector<bool> can_move;   // by line: in some way it comes out of where it is now
  std::vector<bool> must_move;  // in every way
  size_t states = 0;
  bool bounded = false;  // too many states: nothing of this was decided
};

// `resume`: ranks that stall may go on.
//
// `all_orders` takes the possible steps in every order. Else a step that is no choice is taken at
// once, without trying out the others first: it takes nothing away from anybody and stays possible,
// so that every way leads through it. What is left are wildcard receives, which are decided when
// nothing else can be done, so that every message that can be there is there; and calls that do not
// fit, which hold others up if they come in time. Both give the same outcome: oracle_test.cc.
Outcome Explore(const Machine& machine, const State& start, Library library, bool resume,
                bool all_orders = false);

// The same for every decision of a library that decides operation by operation which sends to
// buffer and which collectives to synchronise.
Outcome ExploreLibraries(const Machine& machine, const State& start);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_EXPLORE_H_
