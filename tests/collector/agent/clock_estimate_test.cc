// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/clock_estimate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace rollcall::agent {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

// A node and a collector that communicate over a network. Times are in milliseconds; the
// collector's clock is correct.
class Exchange {
 public:
  explicit Exchange(int64_t ahead_ms) : ahead_ms_(ahead_ms) {}

  void SetClock(int64_t ahead_ms) { ahead_ms_ = ahead_ms; }

  // Returns "offset ± error" of the estimate to journal, or "-" if there is none.
  std::string At(int64_t asked_ms, int64_t there_ms, int64_t back_ms) {
    const ClockReading asked = Read(asked_ms);
    const ClockReading answered = Read(asked_ms + there_ms + back_ms);
    return Text(estimate_.Add(asked, (kEpoch + asked_ms + there_ms) * kNsPerMs, answered));
  }
  // The node's clock is set while the answer is in transit.
  std::string SetMeanwhile(int64_t asked_ms, int64_t ahead_ms) {
    const ClockReading asked = Read(asked_ms);
    SetClock(ahead_ms);
    return Text(estimate_.Add(asked, (kEpoch + asked_ms) * kNsPerMs, Read(asked_ms)));
  }

 private:
  static constexpr int64_t kEpoch = 1'700'000'000'000;

  ClockReading Read(int64_t at_ms) const {
    return {.realtime_ns = (kEpoch + at_ms + ahead_ms_) * kNsPerMs,
            .monotonic_ns = at_ms * kNsPerMs};
  }
  static std::string Text(const std::optional<NodeClock>& clock) {
    if (!clock) return "-";
    return fmt::format("{} ± {}", clock->offset_ns / kNsPerMs, clock->error_ns / kNsPerMs);
  }

  ClockEstimate estimate_;
  int64_t ahead_ms_;
};

TEST(ClockEstimate, ErrorIsHalfTheRoundTripPlusAMargin) {
  EXPECT_EQ(Exchange(-10'000).At(0, 2, 2), "-10000 ± 7") << "5 ms are for what comes later";
  EXPECT_EQ(Exchange(500).At(0, 40, 0), "480 ± 25");
  EXPECT_EQ(Exchange(500).At(0, 0, 40), "520 ± 25");
}

TEST(ClockEstimate, SlowAnswersAreIgnored) {
  Exchange exchange(500);
  EXPECT_EQ(exchange.At(0, 1, 1), "500 ± 6");
  EXPECT_EQ(exchange.At(100, 40, 0), "-");
  EXPECT_EQ(exchange.At(10'000, 0, 40), "-");
}

TEST(ClockEstimate, FasterAnswersReplaceTheEstimate) {
  Exchange exchange(500);
  EXPECT_EQ(exchange.At(0, 40, 0), "480 ± 25");
  EXPECT_EQ(exchange.At(100, 10, 0), "495 ± 10");
}

TEST(ClockEstimate, IsJournaledOnlyIfItChanged) {
  Exchange exchange(500);
  EXPECT_EQ(exchange.At(0, 1, 1), "500 ± 6");
  for (int64_t at_s = 1; at_s < 100; ++at_s) EXPECT_EQ(exchange.At(at_s * 1000, 1, 1), "-");
}

TEST(ClockEstimate, FollowsADriftingClock) {
  Exchange exchange(500);
  EXPECT_EQ(exchange.At(0, 1, 1), "500 ± 6");
  exchange.SetClock(504);
  EXPECT_EQ(exchange.At(10'000, 1, 1), "-") << "within the error";
  exchange.SetClock(506);
  EXPECT_EQ(exchange.At(20'000, 1, 1), "506 ± 6");
}

TEST(ClockEstimate, ClockThatWasSetIsMeasuredAgain) {
  Exchange exchange(500);
  EXPECT_EQ(exchange.At(0, 1, 1), "500 ± 6");
  EXPECT_EQ(exchange.SetMeanwhile(1000, -3000), "-");
  EXPECT_EQ(exchange.At(2000, 20, 20), "-3000 ± 25");
}

}  // namespace
}  // namespace rollcall::agent
