// The stacks of a job that `attach` looked at, for the tree of them. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
#define ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_

#include <vector>

#include "collector/attach/standing.h"
#include "collector/report/stack_tree.h"

namespace rollcall::attach {

// One for each rank, from the caller of the call that it is in, and what it does there. They point
// into `standings`.
std::vector<RankStack> RankStacks(const Standings& standings);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_RANK_STACKS_H_
