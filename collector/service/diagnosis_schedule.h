// SPDX-License-Identifier: Apache-2.0
// Decides when a running job is diagnosed, and when a report is published. A pure state machine:
// time is an argument, and nothing is sent from here.
//
//   events of agents ──► check (JobState::Check) ──► diagnosis ──► report
//                  CheckIsDue             Next            MayPublish
//
// A diagnosis costs the ranks' nodes time. While some ranks compute, diagnoses take at most a tenth
// of the time. When all ranks wait, there is no rank to disturb. A state without a verdict is
// diagnosed more and more rarely, unless the verdict is known and only its time has not come.
#ifndef ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_SCHEDULE_H_
#define ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_SCHEDULE_H_

#include <cstdint>
#include <utility>

#include "collector/service/job_state.h"

namespace rollcall::service {

class DiagnosisSchedule {
 public:
  static constexpr int64_t kTickNs = 25'000'000;

  // Why the job is diagnosed now.
  enum class Cause : uint8_t {
    kNone,       // it is not
    kSuspicion,  // the digests are suspicious
    kRequest,    // somebody asked, a verdict was withdrawn, or a threshold passed: without delay
  };
  // The result of a diagnosis.
  enum class Outcome : uint8_t {
    kNothing,
    kPending,  // a report waits for further ranks
    kVerdict,
  };

  // --- Checks of the digests take at most a fiftieth of the time.

  void OnEvents() { unchecked_ = true; }
  bool CheckIsDue(int64_t now_ns) const { return now_ns - checked_ns_ >= check_gap_ns_; }
  // Whether events have arrived since the last call.
  bool TakeEvents() { return std::exchange(unchecked_, false); }
  void Checked(int64_t begin_ns, int64_t end_ns);

  // --- Diagnoses

  // A verdict is void: the next check is followed by a diagnosis.
  void OnWithdrawal() { withdrawn_ = true; }
  // `asked`: somebody wants a diagnosis. `threshold_ns`: when a reported verdict may change.
  Cause Next(const Suspicion& suspicion, bool asked, int64_t threshold_ns, int64_t now_ns) const;
  // The last diagnosis had this state.
  bool Repeats(const Suspicion& suspicion) const {
    return cost_ns_ >= 0 && suspicion.fingerprint == fingerprint_ && suspicion.reason == reason_;
  }
  void Ran(const Suspicion& suspicion, Outcome outcome, int64_t begin_ns, int64_t end_ns);

  // --- Reports

  // Whether the report of a diagnosis that began at `begin_ns` may be published. `delay_ns`: how
  // long it is to wait, since it was first made, for ranks that would complete it; 0: not at all.
  bool MayPublish(int64_t delay_ns, int64_t begin_ns);
  // Whether a verdict was withdrawn since the last call.
  bool TakeWithdrawal() { return std::exchange(withdrawn_, false); }

 private:
  bool MayRun(const Suspicion& suspicion, int64_t now_ns) const;

  static constexpr int64_t kCheckCostFactor = 50;
  static constexpr int64_t kMinGapNs = 200'000'000;
  static constexpr int64_t kMaxGapNs = 30'000'000'000;
  static constexpr int64_t kCostFactor = 10;
  static constexpr int64_t kMaxCostGapNs = 10'000'000'000;

  int64_t checked_ns_ = 0;
  int64_t check_gap_ns_ = 0;  // until the next check
  bool unchecked_ = false;
  bool withdrawn_ = false;
  // Of the last diagnosis.
  uint64_t fingerprint_ = 0;
  Reason reason_ = Reason::kNone;
  int64_t ended_ns_ = 0;
  int64_t cost_ns_ = -1;  // -1: there was none
  int64_t gap_ns_ = kMinGapNs;
  int64_t delayed_since_ns_ = 0;  // when a report began to wait for further ranks; 0: none waits
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_DIAGNOSIS_SCHEDULE_H_
