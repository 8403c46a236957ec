// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/clock_estimate.h"

#include <cstdlib>

namespace rollcall::agent {
namespace {

// A larger difference means that a clock was set between question and answer.
constexpr int64_t kSetNs = 1'000'000;
// Growth of an estimate's error with its age: adjtime() slews by 500 ppm, and a quartz is 100 ppm
// off.
constexpr double kDrift = 600e-6;
// Margin in the journaled error, so that a microsecond of drift does not need a new line.
constexpr int64_t kStepNs = 5'000'000;

}  // namespace

std::optional<NodeClock> ClockEstimate::Add(const ClockReading& asked, int64_t collector_ns,
                                            const ClockReading& answered) {
  const int64_t took_ns = answered.monotonic_ns - asked.monotonic_ns;
  const int64_t took_real_ns = answered.realtime_ns - asked.realtime_ns;
  if (took_ns < 0 || std::abs(took_real_ns - took_ns) > kSetNs) return std::nullopt;
  const NodeClock now = {.offset_ns = asked.realtime_ns + took_ns / 2 - collector_ns,
                         .error_ns = took_ns / 2};
  if (best_) {
    const int64_t age_ns = answered.monotonic_ns - best_->monotonic_ns;
    const int64_t error_ns =
        best_->clock.error_ns + static_cast<int64_t>(kDrift * static_cast<double>(age_ns));
    // If the two estimates contradict each other, a clock has been set since.
    const bool set = std::abs(now.offset_ns - best_->clock.offset_ns) > now.error_ns + error_ns;
    if (now.error_ns > error_ns && !set) return std::nullopt;
  }
  best_ = {now, answered.monotonic_ns};
  const bool holds = journaled_ && std::abs(now.offset_ns - journaled_->offset_ns) + now.error_ns <=
                                       journaled_->error_ns;
  if (holds && journaled_->error_ns <= 2 * (now.error_ns + kStepNs)) return std::nullopt;
  journaled_ = {.offset_ns = now.offset_ns, .error_ns = now.error_ns + kStepNs};
  return journaled_;
}

}  // namespace rollcall::agent
