// SPDX-License-Identifier: Apache-2.0
#include "collector/base/bounded.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace rollcall {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(EndsWithinTest, RunsTheWork) {
  bool done = false;
  EXPECT_TRUE(EndsWithin(hours(1), [&] { done = true; }));
  EXPECT_TRUE(done);
  EXPECT_FALSE(WorkWasLeft());
}

// In a process of its own: the work never ends.
TEST(EndsWithinTest, LeavesWorkThatHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave_it = [] {
    const bool ended = EndsWithin(milliseconds(1), [] { pause(); });
    _exit(!ended && WorkWasLeft() ? 7 : 1);
  };
  EXPECT_EXIT(leave_it(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace rollcall
