// Prepares the stacks of a job that `attach` sampled for display as a tree. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_

#include <vector>

#include "collector/attach/rank_state.h"
#include "collector/report/stack_tree.h"

namespace rollcall::attach {

// Returns one entry per rank: the stack from the caller of its current call outwards, and what the
// rank does there. Entries point into `rank_states`.
std::vector<RankStack> RankStacks(const RankStates& rank_states);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
