// The stacks of all ranks as one tree: ranks that stand alike are one line. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_STACK_TREE_H_
#define ROLLCALL_COLLECTOR_ATTACH_STACK_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/attach/standing.h"

namespace rollcall::attach {

// A frame, and the ranks whose stacks come through it; callers above what they call.
struct StackNode {
  std::string function;
  std::string place;  // "halo.c:88"; empty: unknown
  std::vector<int32_t> ranks;
  std::vector<StackNode> callees;  // by their lowest rank
};

// The root has no function. Frames of MPI, Python and other frameworks are left out unless `full`:
// those of a rank that has no others stay. The last node says what the ranks do there.
StackNode StackTree(const Standings& standings, bool full);

// A line for each node, "  0-2   exchange (halo.c:88)", indented where paths part.
std::vector<std::string> StackTreeLines(const StackNode& root);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_STACK_TREE_H_
