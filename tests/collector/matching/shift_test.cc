// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/shift.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

std::optional<Shift> ShiftOf(std::string_view text) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_TRUE(parsed.errors.empty());
  const CallSites sites(parsed.trace);
  return FindShift(parsed.trace, sites, BuildHistory(parsed.trace, 0));
}

TEST(FindLoop, FindsTheShortestPeriodAndItsBeginning) {
  const std::vector<uint64_t> keys = {9, 1, 2, 1, 2, 1, 2};
  EXPECT_EQ(FindLoop(keys, keys.size()).period, 2u);
  EXPECT_EQ(FindLoop(keys, keys.size()).begin, 1u);
  EXPECT_EQ(FindLoop({1, 1, 1}, 3).period, 1u);
  EXPECT_EQ(FindLoop({1, 2, 3}, 3).period, 0u);
  EXPECT_EQ(FindLoop({1, 2, 1}, 3).period, 0u);  // not two complete iterations
  EXPECT_EQ(FindLoop({}, 0).period, 0u);
}

TEST(FindShift, FindsSkippedCall) {
  const auto shift = ShiftOf(R"(
ranks 3
0-2: Barrier @ main:1
0,1: Barrier @ main:2
0-2: Barrier @ main:3
0-2: Barrier @ main:4
)");
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->sequence, 2u);
  EXPECT_EQ(shift->deviating, (std::vector<uint32_t>{2}));
  EXPECT_FALSE(shift->extra);
  EXPECT_FALSE(shift->tie);
}

TEST(FindShift, FindsCallSkippedInEachIteration) {
  const auto shift = ShiftOf(R"(
ranks 3
0-2: Barrier @ main:1
repeat 3
  0,1: Barrier @ main:2
  0-2: Barrier @ main:3
  0-2: Barrier @ main:4
end
)");
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->sequence, 2u);
  EXPECT_EQ(shift->deviating, (std::vector<uint32_t>{2}));
  EXPECT_TRUE(shift->each_time);
  EXPECT_FALSE(shift->extra);
}

TEST(FindShift, DifferentPeriodsWithEqualCallsAreNotAShift) {
  // Rank 0 makes all calls from one line, and the others from two lines. No call is missing.
  EXPECT_FALSE(ShiftOf(R"(
ranks 3
repeat 4
  0: Barrier @ main:1
  1,2: Barrier @ main:2
  0: Barrier @ main:1
  1,2: Barrier @ main:1
end
)")
                   .has_value());
}

TEST(FindShift, TwoArmsOfABranchAreNotAShift) {
  EXPECT_FALSE(ShiftOf(R"(
ranks 3
repeat 3
  0: Barrier @ main:1
  1,2: Barrier @ main:2
  0-2: Barrier @ main:4
end
)")
                   .has_value());
}

TEST(FindShift, SwappedNonblockingCallsAreNotAShift) {
  // Two nonblocking calls in swapped order: no rank skipped a call.
  EXPECT_FALSE(ShiftOf(R"(
ranks 3
0,1: Ibarrier request=a @ main:1
0,1: Iallreduce sum 1xMPI_INT request=b @ main:2
2: Iallreduce sum 1xMPI_INT request=b @ main:2
2: Ibarrier request=a @ main:1
)")
                   .has_value());
}

TEST(FindShift, FindsSkippedCallIfAllHistoriesDiffer) {
  // Three ranks with three histories: rank 2 has sent its part and is one call ahead of rank 0.
  const auto shift = ShiftOf(R"(
ranks 3
0-2: Barrier @ main:1
0: waits in Reduce sum root=0 1xMPI_INT @ main:2
1: waits in Barrier @ main:3
2: Reduce sum root=0 1xMPI_INT @ main:2
2: waits in Barrier @ main:3
)");
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->sequence, 2u);
  EXPECT_EQ(shift->deviating, (std::vector<uint32_t>{1}));
  EXPECT_FALSE(shift->extra);
}

TEST(FindShift, LongShiftNeedsMoreThanOneMatchingCall) {
  // Different arms of a branch throughout, and a last call site that is also used by one arm of
  // rank 0.
  EXPECT_FALSE(ShiftOf(R"(
ranks 3
repeat 20
  0: Barrier @ main:1
  1,2: Barrier @ main:2
  0: Barrier @ main:3
  1,2: Barrier @ main:4
end
0-2: Barrier @ main:1
)")
                   .has_value());
}

TEST(FindShift, FindsSeveralSkippedIterations) {
  const auto shift = ShiftOf(R"(
ranks 3
repeat 5
  0-2: Barrier @ main:1
end
repeat 3
  0,2: Barrier @ main:1
end
0-2: Barrier @ main:4
)");
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->sequence, 6u);
  EXPECT_EQ(shift->calls, 3u);
}

TEST(FindShift, MajorityMayHaveDifferentHistories) {
  // Three histories that differ only in the arm of a branch, and one that is shifted against all of
  // them.
  const auto shift = ShiftOf(R"(
ranks 5
0: Barrier @ main:1
1,2: Barrier @ main:2
3,4: Barrier @ main:3
0-3: Barrier @ main:5
0-4: Barrier @ main:6
0-4: Barrier @ main:7
)");
  ASSERT_TRUE(shift.has_value());
  EXPECT_EQ(shift->sequence, 2u);
  EXPECT_EQ(shift->deviating, (std::vector<uint32_t>{4}));
}

}  // namespace
}  // namespace rollcall
