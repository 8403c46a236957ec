// SPDX-License-Identifier: Apache-2.0
// The thresholds of time without progress, in one table: at each, the same state may get another
// verdict or be acted on.
#ifndef ROLLCALL_COLLECTOR_SERVICE_PROGRESS_TIMES_H_
#define ROLLCALL_COLLECTOR_SERVICE_PROGRESS_TIMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "collector/diagnosis/diagnose.h"

namespace rollcall::service {

// The value of --idle-after; 0: there is none.
inline int64_t IdleAfterNs(double seconds) {
  constexpr double kMaxSeconds = 1e9;
  return seconds > 0 && seconds < kMaxSeconds ? static_cast<int64_t>(seconds * 1e9) : INT64_MAX;
}

struct ProgressTimes {
  // A likely hang is acted on after this time; never later than a suspected one.
  int64_t kill_after_ns = 30'000'000'000;
  // A computing rank is called stalled after this time, and a suspected hang is acted on.
  int64_t stall_after_ns = 30'000'000'000;
  // A rank that waits for the world outside the job is called stalled after this time.
  int64_t idle_after_ns = INT64_MAX;

  // What a diagnosis needs to know of them.
  DiagnoseOptions Options() const {
    return {.stall_after_ns = stall_after_ns, .idle_after_ns = idle_after_ns};
  }
  // The number of thresholds that have passed after this time.
  size_t Passed(int64_t still_ns) const {
    const std::array<int64_t, 5> thresholds = Thresholds();
    return static_cast<size_t>(std::ranges::count_if(
        thresholds, [still_ns](int64_t threshold) { return still_ns >= threshold; }));
  }
  // The first threshold that is longer than this time; INT64_MAX after the last.
  int64_t Next(int64_t still_ns) const {
    int64_t next = INT64_MAX;
    for (const int64_t threshold : Thresholds()) {
      if (threshold > still_ns) next = std::min(next, threshold);
    }
    return next;
  }

 private:
  std::array<int64_t, 5> Thresholds() const {
    const DiagnoseOptions weak = Options();
    return {weak.SuspectAfterNs(), weak.LikelyAfterNs(), kill_after_ns, stall_after_ns,
            idle_after_ns};
  }
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_PROGRESS_TIMES_H_
