// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/poll_watch.h"

#include <gtest/gtest.h>

namespace rollcall::agent {
namespace {

constexpr int64_t kMs = 1'000'000;

// Samples, every 100 ms from `from_ms` to `to_ms`, a thread that polls `polls_per_s` times per
// second and uses `cpu_per_s` seconds of CPU time per second. The thread spends the share `inside`
// of its time inside polls.
void Watch(PollWatch* watch, int64_t from_ms, int64_t to_ms, uint64_t polls_per_s, double cpu_per_s,
           uint64_t streak = 1, double inside = 0) {
  for (int64_t ms = from_ms; ms <= to_ms; ms += 100) {
    watch->Add({.at_ns = ms * kMs,
                .streak = streak,
                .polls = static_cast<uint64_t>(ms) * polls_per_s / 1000,
                .inside_share = inside,
                .times = ThreadTimes{
                    .cpu_ns = static_cast<uint64_t>(static_cast<double>(ms * kMs) * cpu_per_s)}});
  }
}

TEST(PollWatchTest, BusyLoopIsTightFromASecondBeforeItsFirstSample) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 1'000'000, 1.0);
  EXPECT_EQ(watch.TightSince(), (500 - 1000) * kMs);
}

TEST(PollWatchTest, PollsWithSleepsOfOneMillisecondBetweenThemAreTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 900, 0.03);
  EXPECT_EQ(watch.TightSince(), (500 - 1000) * kMs);
}

TEST(PollWatchTest, PollsWithSleepsOf150MillisecondsBetweenThemAreTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 6, 0.001);
  EXPECT_EQ(watch.TightSince(), (500 - 1000) * kMs);
}

TEST(PollWatchTest, SlowPollsAreTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 50'000, 1.0, 1, 0.9);
  EXPECT_TRUE(watch.TightSince());
}

TEST(PollWatchTest, PollsWithSomeMicrosecondsOfWorkBetweenThemAreNotTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 300'000, 1.0, 1, 0.1);
  EXPECT_FALSE(watch.TightSince());
}

TEST(PollWatchTest, PollsWithShortSleepsThatUseSomeProcessorTimeAreTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 18'000, 0.09, 1, 0.01);
  EXPECT_TRUE(watch.TightSince());
}

TEST(PollWatchTest, PollsWithWorkBetweenThemAreNotTight) {
  PollWatch watch;
  Watch(&watch, 500, 5000, 3, 1.0);
  EXPECT_FALSE(watch.TightSince());
}

TEST(PollWatchTest, ResultIsUnknownForTheFirstSecond) {
  PollWatch watch;
  Watch(&watch, 500, 1400, 1'000'000, 1.0);
  EXPECT_FALSE(watch.TightSince());
}

TEST(PollWatchTest, WorkBetweenPollsRestartsTheMeasurement) {
  PollWatch watch;
  Watch(&watch, 0, 5000, 1000, 0.01);
  // The thread works for two seconds and polls as often as before; then it stops working.
  for (int64_t ms = 5100; ms <= 7000; ms += 100) {
    watch.Add({.at_ns = ms * kMs,
               .streak = 1,
               .polls = static_cast<uint64_t>(ms),
               .times = ThreadTimes{.cpu_ns = static_cast<uint64_t>((ms - 5000) * kMs)}});
  }
  EXPECT_FALSE(watch.TightSince());
  for (int64_t ms = 7100; ms <= 10000; ms += 100) {
    watch.Add({.at_ns = ms * kMs,
               .streak = 1,
               .polls = static_cast<uint64_t>(ms),
               .times = ThreadTimes{.cpu_ns = static_cast<uint64_t>(2000 * kMs)}});
  }
  ASSERT_TRUE(watch.TightSince());
  EXPECT_GE(*watch.TightSince(), 7000 * kMs);
}

TEST(PollWatchTest, AnotherStreakRestartsTheMeasurement) {
  PollWatch watch;
  Watch(&watch, 0, 5000, 1000, 0.01, 1);
  Watch(&watch, 5100, 8000, 1000, 0.01, 2);
  EXPECT_EQ(watch.TightSince(), (5100 - 1000) * kMs);
}

TEST(PollWatchTest, SecondWithoutAPollIsNotTight) {
  PollWatch watch;
  for (int64_t ms = 0; ms <= 5000; ms += 100) {
    watch.Add({.at_ns = ms * kMs, .streak = 1, .polls = 7, .times = ThreadTimes()});
  }
  EXPECT_FALSE(watch.TightSince());
}

// In each second the thread is ready to run for `ready` seconds and runs for a twentieth of it.
std::optional<int64_t> TightSinceWhereStarved(double ready) {
  PollWatch watch;
  for (int64_t ms = 0; ms <= 20000; ms += 100) {
    watch.Add({.at_ns = ms * kMs,
               .streak = 1,
               .polls = static_cast<uint64_t>(ms / 10),
               .times = ThreadTimes{
                   .cpu_ns = static_cast<uint64_t>(ms * kMs / 20),
                   .wait_ns = static_cast<uint64_t>(static_cast<double>(ms * kMs) * ready)}});
  }
  return watch.TightSince();
}

TEST(PollWatchTest, TimeWithoutAProcessorDoesNotCount) {
  EXPECT_EQ(TightSinceWhereStarved(0.25), (5000 - 1000) * kMs);
}

TEST(PollWatchTest, AtLeastHalfOfTheTimeCounts) {
  EXPECT_EQ(TightSinceWhereStarved(0.9), (10000 - 1000) * kMs);
}

TEST(PollWatchTest, UnknownCpuTimeIsNotTight) {
  PollWatch watch;
  for (int64_t ms = 0; ms <= 5000; ms += 100) {
    watch.Add({.at_ns = ms * kMs, .streak = 1, .polls = static_cast<uint64_t>(ms), .times = {}});
  }
  EXPECT_FALSE(watch.TightSince());
}

}  // namespace
}  // namespace rollcall::agent
