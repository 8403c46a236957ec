// Hangs that rest on ranks which may go on by themselves: how much may be said of them, and when.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WEAK_WAIT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WEAK_WAIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// A wait that rests on weak ones (ProcessView::weak), or on counts that are not whole
// (WaitDependency::uncounted).
struct WeakWait {
  // kSuspected when none of these has moved for DiagnoseOptions::SuspectAfterNs(), kLikely after
  // LikelyAfterNs(), never more; kSuspected at most where one of them polls with work in between,
  // or the counts are not whole.
  // Nothing: too early to be reported.
  std::optional<Certainty> certainty;
  // Processes that wait weakly: by polling; because of a thread that might act; because nobody saw
  // their threads. And those whose message may have come uncounted. Rising.
  std::vector<uint32_t> polling;
  std::vector<uint32_t> with_threads;
  std::vector<uint32_t> unseen;
  std::vector<uint32_t> uncounted;
};

// The weak waits that a hang rests on, and those for messages whose counts are not whole; nothing
// if it does not rest on such.
std::optional<WeakWait> FindWeakWait(const Analysis& analysis, const Incident& incident);

// Limits the certainty of `finding` to that of `wait`, which has one, and notes why.
void Weaken(const Analysis& analysis, const WeakWait& wait, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WEAK_WAIT_H_
