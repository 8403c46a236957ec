// The stacks of many ranks as one tree: ranks that stand alike are one line. Pure.
#ifndef ROLLCALL_COLLECTOR_REPORT_STACK_TREE_H_
#define ROLLCALL_COLLECTOR_REPORT_STACK_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

struct RankStack {
  int32_t rank = -1;
  std::string thread = {};                      // its name; empty: it is the rank's main one
  std::vector<const SourceFrame*> frames = {};  // innermost first
  std::string doing = {};                       // at the innermost one: "MPI_Barrier"
  int32_t cpu_percent = -1;                     // used meanwhile; -1: unknown
};

// A frame, and the ranks whose stacks come through it; callers above what they call.
struct StackNode {
  std::string function;
  std::string place;               // "halo.c:88"; empty: unknown
  std::vector<int32_t> ranks;      // each once, as they came
  std::vector<StackNode> callees;  // as they came
  int32_t least_cpu_percent = -1;  // of those that end here; -1: unknown
  int32_t most_cpu_percent = -1;
};

// The root has no function. Frames of MPI, Python and other frameworks are left out unless `full`:
// those of a stack that has no others stay. The last node says what the ranks do there.
StackNode StackTree(const std::vector<RankStack>& stacks, bool full);

// A line for each node, "  0-2   exchange (halo.c:88)", indented where paths part.
std::vector<std::string> StackTreeLines(const StackNode& root);

// Of a finding with ranks that stand outside of every call: their threads, by their live stacks,
// and the ranks that wait for them, by their calls. Threads beside the main one that have no frame
// of the user's are left out unless `full`. Otherwise nothing. Its pointers are into the trace.
std::vector<RankStack> LiveStacksOf(const Trace& trace, const Finding& finding, bool full);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_STACK_TREE_H_
