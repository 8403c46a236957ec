// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_clock.h"

#include <cmath>

#include "collector/model/trace.h"

namespace rollcall {
namespace {

// Years 1970 to 2262; a time outside of this range is damage.
constexpr double kMaxNs = 9.2e18;
// With anchors closer than this, the time it takes to read the clocks makes the rate inaccurate.
constexpr uint64_t kMinAnchorDistanceNs = 100'000;
// If clocks differ by more than this, they are different clocks, or the clock was set in between.
constexpr double kSameClockNs = 1'000'000;
constexpr double kSameClockDrift = 1e-4;  // of a rate taken over 10 ms

}  // namespace

RingClock::RingClock(const ring::FileHeader& header) : kind_(header.clock) {
  const ring::ClockAnchor& first = header.first_anchor;
  const ring::ClockAnchor& last = header.last_anchor;
  anchor_ = last.realtime_ns != 0 ? last : first;
  if (anchor_.realtime_ns == 0 || static_cast<double>(anchor_.realtime_ns) > kMaxNs ||
      static_cast<double>(anchor_.monotonic_ns) > kMaxNs) {
    return;
  }
  offset_ns_ = static_cast<int64_t>(anchor_.realtime_ns - anchor_.monotonic_ns);
  if (header.clock == static_cast<uint64_t>(ring::Clock::kMonotonicNs)) {
    known_ = true;
  } else if (header.clock == static_cast<uint64_t>(ring::Clock::kTsc) && last.ticks > first.ticks &&
             last.monotonic_ns > first.monotonic_ns &&
             last.monotonic_ns - first.monotonic_ns >= kMinAnchorDistanceNs) {
    ns_per_tick_ = static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
                   static_cast<double>(last.ticks - first.ticks);
    known_ = true;
  }
}

int64_t RingClock::ToNs(uint64_t ticks) const {
  if (ticks == 0 || !known_) return kNoTime;
  // Counted from the anchor, so that the double has a short distance: years would lose precision.
  const auto distance = static_cast<double>(static_cast<int64_t>(ticks - anchor_.ticks));
  const double since_anchor = distance * ns_per_tick_;
  const double ns = static_cast<double>(anchor_.monotonic_ns) + since_anchor;
  const double real_ns = ns + static_cast<double>(offset_ns_);
  if (!(ns >= 0 && ns < kMaxNs && real_ns >= 0 && real_ns < kMaxNs)) {
    return kNoTime;
  }
  return static_cast<int64_t>(anchor_.monotonic_ns) + static_cast<int64_t>(since_anchor) +
         offset_ns_;
}

bool RingClock::Fits(const ring::FileHeader& header) const {
  if (!known_ || header.clock != kind_) return false;
  for (const ring::ClockAnchor& anchor : {header.first_anchor, header.last_anchor}) {
    const int64_t ns = ToNs(anchor.ticks);
    if (ns == kNoTime) return false;
    const double apart = static_cast<double>(ns) - static_cast<double>(anchor.realtime_ns);
    const double distance =
        static_cast<double>(anchor.monotonic_ns) - static_cast<double>(anchor_.monotonic_ns);
    if (std::abs(apart) > kSameClockNs + kSameClockDrift * std::abs(distance)) return false;
  }
  return true;
}

}  // namespace rollcall
