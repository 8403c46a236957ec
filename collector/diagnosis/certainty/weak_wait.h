// Hangs that rest on ranks that may continue by themselves: their certainty, and when they are
// reported.
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
  // kSuspected if none of these has moved for DiagnoseOptions::SuspectAfterNs(), kLikely after
  // LikelyAfterNs(), never higher; at most kSuspected if one of them polls with work in between, or
  // if counts are incomplete. Empty: too early to report.
  std::optional<Certainty> certainty;
  // Processes that wait weakly: by polling; because of a thread that might act; because their
  // threads were not observed; and those whose message may have arrived uncounted. Increasing.
  std::vector<uint32_t> polling;
  std::vector<uint32_t> with_threads;
  std::vector<uint32_t> unseen;
  std::vector<uint32_t> uncounted;
};

// The weak waits that a hang rests on, and those for messages with incomplete counts; empty if it
// rests on none.
std::optional<WeakWait> FindWeakWait(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_WEAK_WAIT_H_
