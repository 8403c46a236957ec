// SPDX-License-Identifier: Apache-2.0
// Hangs that rest on ranks that may continue by themselves: their certainty, and the time after
// which they are reported.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_WEAK_WAIT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_WEAK_WAIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// A wait that rests on weak waits (ProcessView::weak), or on incomplete counts
// (WaitDependency::uncounted).
struct WeakWait {
  // kSuspected if none of the processes has moved for DiagnoseOptions::SuspectAfterNs(), kLikely
  // after LikelyAfterNs(), never higher. At most kSuspected if one of them polls with work in
  // between, or if counts are incomplete. Empty: too early to report.
  std::optional<Certainty> certainty;
  // Processes that wait weakly, each list increasing: they poll; they have another thread that
  // might act; their threads were not observed; their message may have arrived uncounted.
  std::vector<uint32_t> polling;
  std::vector<uint32_t> with_threads;
  std::vector<uint32_t> unseen;
  std::vector<uint32_t> uncounted;
};

// The weak waits that a hang rests on, and its waits for messages with incomplete counts. Empty if
// the hang rests on no such wait.
std::optional<WeakWait> FindWeakWait(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_WEAK_WAIT_H_
