// SPDX-License-Identifier: Apache-2.0
// Which processes ended before the job did, and which were only ended together with the job.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// Refers to the trace, which must outlive it. Facts that require a pass over all ranks are computed
// once.
class Deaths {
 public:
  explicit Deaths(const Trace& trace);

  // Whether the process ended by itself before the job ended. See docs/verdicts/rank-died.md.
  bool ByItself(const Process& process) const;

 private:
  void CheckLosses();
  void CheckWorld(const World& world);

  const Trace& trace_;
  std::vector<bool> asked_to_stop_;                        // by world
  std::vector<bool> all_left_;                             // by world: all ranks ended with 0
  std::vector<std::vector<const Process*>> killed_alone_;  // by world: WasKilledAlone()
  // World and host of ranks that ended for another reason than the loss of their daemon.
  std::set<std::pair<uint32_t, std::string>> other_ends_;
};

// Whether the exception came out of a call of PyTorch, which therefore never returned. The cause is
// the rank's own mistake, or a lost connection to another rank.
bool FailedInACall(const Trace& trace, const Process& process);

// The largest error of the difference between a time of `a` and a time of `b`: 0 on one host,
// decades if a clock offset was not measured.
int64_t ClockErrorNs(const Process& a, const Process& b);

// For a process that died by itself: whether it is certain that no other death came first.
bool IsFirstDeathCertain(const Trace& trace, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_DEATHS_H_
