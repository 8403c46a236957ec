// SPDX-License-Identifier: Apache-2.0
#include "collector/service/diagnosis_schedule.h"

#include <algorithm>

#include "collector/base/assert.h"

namespace rollcall::service {

void DiagnosisSchedule::Checked(int64_t begin_ns, int64_t end_ns) {
  checked_ns_ = begin_ns;
  // The cost of a check depends on the number of processes, even if few have sent a digest.
  check_gap_ns_ = std::max(kTickNs, kCheckCostFactor * (end_ns - begin_ns));
}

DiagnosisSchedule::Cause DiagnosisSchedule::Next(const Suspicion& suspicion, bool asked,
                                                 int64_t threshold_ns, int64_t now_ns) const {
  if (asked || withdrawn_ || now_ns >= threshold_ns) return Cause::kRequest;
  return MayRun(suspicion, now_ns) ? Cause::kSuspicion : Cause::kNone;
}

bool DiagnosisSchedule::MayRun(const Suspicion& suspicion, int64_t now_ns) const {
  if (suspicion.reason == Reason::kNone) return false;
  if (cost_ns_ < 0) return true;
  const int64_t since_ns = now_ns - ended_ns_;
  if (Repeats(suspicion)) return since_ns >= gap_ns_;
  const bool others_compute =
      suspicion.reason == Reason::kSomeWait || suspicion.reason == Reason::kMismatch;
  if (!others_compute) return since_ns >= (suspicion.reason == reason_ ? kMinGapNs : 0);
  return since_ns >= std::clamp(cost_ns_ * kCostFactor, kMinGapNs, kMaxCostGapNs);
}

void DiagnosisSchedule::Ran(const Suspicion& suspicion, Outcome outcome, int64_t begin_ns,
                            int64_t end_ns) {
  ROLLCALL_ASSERT(begin_ns <= end_ns);
  const bool again = Repeats(suspicion) && outcome == Outcome::kNothing;
  gap_ns_ = again ? std::min(gap_ns_ * 2, kMaxGapNs) : kMinGapNs;
  // A verdict stands until a process moves, but other problems may be found later.
  if (outcome == Outcome::kVerdict) gap_ns_ = kMaxGapNs;
  fingerprint_ = suspicion.fingerprint;
  reason_ = suspicion.reason;
  ended_ns_ = end_ns;
  cost_ns_ = end_ns - begin_ns;
}

bool DiagnosisSchedule::MayPublish(int64_t delay_ns, int64_t begin_ns) {
  if (delay_ns == 0) {
    delayed_since_ns_ = 0;
    return true;
  }
  if (delayed_since_ns_ == 0) delayed_since_ns_ = begin_ns;
  return begin_ns - delayed_since_ns_ >= delay_ns;
}

}  // namespace rollcall::service
