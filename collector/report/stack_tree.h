// SPDX-License-Identifier: Apache-2.0
// Merges the stacks of many ranks into one tree: ranks with the same stack share one line. Pure.
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
  std::string thread = {};                      // its name; empty: the rank's main thread
  std::vector<const SourceFrame*> frames = {};  // innermost first
  std::string doing = {};                       // action at the innermost frame: "MPI_Barrier"
  int32_t cpu_percent = -1;                     // CPU share while it was sampled; -1: unknown
};

// A frame, and the ranks whose stacks contain the frame at this place. A caller is the parent of
// its callees.
struct StackNode {
  std::string function;
  std::string place;               // "halo.c:88"; empty: unknown
  bool user = false;               // the user's code, not of a framework
  std::vector<int32_t> ranks;      // each once, in order of insertion
  std::vector<StackNode> callees;  // in order of insertion
  int32_t min_cpu_percent = -1;    // of the stacks that end here; -1: unknown
  int32_t max_cpu_percent = -1;
};

// The root has no function. Unless `full`, frames of MPI, Python and other frameworks are left out,
// except in a stack that has no other frames. The leaf shows what the ranks do there.
StackNode StackTree(const std::vector<RankStack>& stacks, bool full);

// A line for each node, "  0-2   exchange (halo.c:88)", indented where stacks diverge.
std::vector<std::string> StackTreeLines(const StackNode& root);

// Adds the live stacks of the process's threads. Unless `full`, threads other than the main one are
// left out if they have no user frame. The pointers point into the trace.
void AddLiveStacks(const Process& process, bool full, std::vector<RankStack>* stacks);

// If the finding has ranks that are outside every call: the live stacks of their threads, and the
// call paths of the ranks that wait for them. Otherwise empty. Threads and pointers: see
// AddLiveStacks().
std::vector<RankStack> LiveStacksOf(const Trace& trace, const Finding& finding, bool full);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_STACK_TREE_H_
