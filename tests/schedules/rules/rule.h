// SPDX-License-Identifier: Apache-2.0
// What the programs of tests/schedules/rules share.
#ifndef ROLLCALL_TESTS_SCHEDULES_RULES_RULE_H_
#define ROLLCALL_TESTS_SCHEDULES_RULES_RULE_H_

#include "tests/faults/quiet.h"

// Ends the job if the rule is broken.
static inline void Require(int holds, const char* rule) {
  if (holds) return;
  fprintf(stderr, "rank %d: broken: %s\n", WorldRank(), rule);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

#endif  // ROLLCALL_TESTS_SCHEDULES_RULES_RULE_H_
