// SPDX-License-Identifier: Apache-2.0
// Prepares the stacks of a job that `attach` sampled for display as a tree. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_

#include <vector>

#include "collector/model/trace.h"
#include "collector/report/stack_tree.h"

namespace rollcall::attach {

// Returns one entry for each process with a place: the stack from the caller of its current call
// outwards, and what the rank does there. Entries point into `trace`.
std::vector<RankStack> RankStacks(const Trace& trace);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
