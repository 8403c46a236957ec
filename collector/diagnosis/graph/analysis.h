// SPDX-License-Identifier: Apache-2.0
// The input of detectors and rules: an aligned trace, and which of its ranks hang.
//
// A call hangs if nothing that can still happen completes it. The processes that can act are
// computed as the smallest set that contains the processes outside every call, the processes that
// these can release, and so on. The remaining processes are in a deadlock or wait for dead
// processes. In
//   0: waits in Recv 1xMPI_INT peer=1 tag=0 @ main:10
//   1: computes @ main:20
//   2: waits in Recv 1xMPI_INT peer=3 tag=0 @ main:10
//   3: waits in Recv 1xMPI_INT peer=2 tag=0 @ main:10
// rank 1 can act and may release rank 0; ranks 2 and 3 hang. The set is computed three times: by
// what MPI libraries do in practice; the same without processes whose wait is weak; and by what the
// standard alone requires. Only the last computation proves a hang.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ANALYSIS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall {

// Made by Analyze() of detectors/incident.h, which knows which calls do not match. For one thread,
// as AlignedTrace.
class Analysis : public AlignedTrace {
 public:
  // `mismatched`: indices of nodes of aligned.graph that never complete because their calls do not
  // match.
  Analysis(AlignedTrace aligned, const std::vector<uint32_t>& mismatched);

  // `node` is one of graph.nodes.
  bool IsMismatched(const CollectiveNode& node) const {
    return mismatched_[static_cast<size_t>(&node - graph.nodes.data())];
  }
  // The process waits, and nothing that can still happen releases it.
  bool IsStuck(uint32_t process) const { return Waits(process) && !runnable_[process]; }
  // It is stuck even if all weak waits ended and all uncounted messages arrived.
  bool IsStuckFirmly(uint32_t process) const {
    return Waits(process) && !runnable_firmly_[process];
  }
  // It is stuck by the standard, on complete records: proven.
  bool IsStuckStrictly(uint32_t process) const {
    return Waits(process) && !runnable_strictly_[process];
  }

 private:
  std::vector<bool> mismatched_;  // by node
  std::vector<bool> runnable_;    // by process
  std::vector<bool> runnable_firmly_;
  std::vector<bool> runnable_strictly_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ANALYSIS_H_
