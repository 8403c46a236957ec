// What detectors and rules work on: an aligned trace of which it is known who is stuck.
//
// A call is stuck if nothing that can still happen completes it: the least set of processes that
// can act is computed (those that compute, then whoever they can release, and so on); what remains
// is a deadlock or waits for the dead. Computed three times: by what an MPI library does in
// practice; the same without those whose wait is weak; and by what the standard alone demands,
// under which alone something is proven.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ANALYSIS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/aligned_trace.h"

namespace rollcall {

// Made by Analyze() of detectors/incident.h, which knows which calls do not fit together. For one
// thread, as AlignedTrace.
class Analysis : public AlignedTrace {
 public:
  // `mismatched`: indices of nodes of aligned.graph that never complete, as their calls do not fit
  // together.
  Analysis(AlignedTrace aligned, const std::vector<uint32_t>& mismatched);

  // `node` is one of graph.nodes.
  bool IsMismatched(const CollectiveNode& node) const {
    return mismatched_[static_cast<size_t>(&node - graph.nodes.data())];
  }
  // Nothing that can still happen releases the process, which waits.
  bool IsStuck(uint32_t process) const { return Waits(process) && !runnable_[process]; }
  // Not even if all weak waits ended, and what is uncounted came.
  bool IsStuckFirmly(uint32_t process) const {
    return Waits(process) && !runnable_firmly_[process];
  }
  // By the standard, on complete records: proven.
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
