// SPDX-License-Identifier: Apache-2.0
#include "collector/schedules/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/steer_plan.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<Schedule> SchedulesOf(std::string_view text, size_t count = 100, uint64_t seed = 1) {
  TextTraceResult result = ParseTextTrace(text);
  EXPECT_THAT(result.errors, IsEmpty());
  const DiagnoseOptions options{.job_ended = true};
  return FindSchedules(result.trace, options, count, seed);
}

// The plans that the records suggest, not those by chance.
std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (const Schedule& schedule : SchedulesOf(text)) {
    const bool by_chance =
        schedule.lines.starts_with("slow ") || schedule.lines.starts_with("delay ");
    if (!by_chance) lines.push_back(schedule.lines);
  }
  return lines;
}

TEST(FindSchedules, PutsALateMessageFirst) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Send 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "1: Send 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
                      "0: Recv 1xMPI_INT peer=1 tag=0 @ main:11\n"),
              ElementsAre("synchronous\n", "first 0 1:1 before 2:1\n", "first 0 2:1 before 1:1\n"));
}

TEST(FindSchedules, LeavesWhatTheOrderOfCallsForbids) {
  // Rank 1 sends only after rank 0 has received from rank 2.
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
                      "0: Ssend 1xMPI_INT peer=1 tag=5 @ main:11\n"
                      "1: Recv 1xMPI_INT peer=0 tag=5 @ main:30\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=0 @ main:31\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:12\n"),
              Not(Contains("first 0 1:1 before 2:1\n")));
}

TEST(FindSchedules, LeavesWhatABarrierForbids) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
                      "0-2: Barrier @ main:15\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=0 @ main:31\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:12\n"),
              IsEmpty());
}

TEST(FindSchedules, LeavesOtherTagsAndNamedSenders) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=1 @ main:20\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=2 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=any tag=1 @ main:10\n"
                      "0: Recv 1xMPI_INT peer=any tag=2 @ main:11\n"),
              IsEmpty());
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=1 @ main:20\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=1 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=2 tag=1 @ main:10\n"
                      "0: Recv 1xMPI_INT peer=1 tag=1 @ main:11\n"),
              IsEmpty());
}

TEST(FindSchedules, LeavesMessagesThatNamedReceivesTakeBefore) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=1 @ main:20\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=1 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=2 tag=1 @ main:10\n"
                      "0: Recv 1xMPI_INT peer=any tag=1 @ main:11\n"),
              IsEmpty());
}

TEST(FindSchedules, LetsTwoSendersAlternate) {
  const std::vector<std::string> lines = LinesOf(
      "ranks 3\n"
      "repeat 2\n"
      "  1: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
      "  0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
      "end\n"
      "repeat 2\n"
      "  2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
      "  0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
      "end\n");
  EXPECT_THAT(lines, Contains("first 0 2:1 before 1:1\nfirst 0 1:1 before 2:2\n"
                              "first 0 2:2 before 1:2\n"));
}

TEST(FindSchedules, OrdersTheMessagesOfWhichAnyIsAwaited) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "0: Irecv 1xMPI_INT peer=1 tag=0 request=a @ main:10\n"
                      "0: Irecv 1xMPI_INT peer=2 tag=0 request=b @ main:11\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Waitany for=a,b @ main:12\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Wait for=b @ main:13\n"),
              Contains("first 0 2:1 before 1:1\n"));
}

TEST(FindSchedules, MakesCollectivesWaitThatMayReturnEarly) {
  EXPECT_THAT(LinesOf("ranks 2\n0-1: Bcast 1xMPI_INT root=0 @ main:10\n"),
              ElementsAre("barriers\n"));
  EXPECT_THAT(LinesOf("ranks 2\n0-1: Barrier @ main:10\n"), IsEmpty());
}

TEST(FindSchedules, AddsNoBarriersWhereMpiRejectedCalls) {
  EXPECT_THAT(LinesOf("ranks 2\n"
                      "0: is-rejected MPI_ERR_ROOT Bcast 1xMPI_INT root=7 @ main:9\n"
                      "0-1: Bcast 1xMPI_INT root=0 @ main:10\n"),
              IsEmpty());
}

TEST(FindSchedules, AddsNoBarriersBesideAnotherWorld) {
  Trace trace = ParseTextTrace("ranks 2\n0-1: Bcast 1xMPI_INT root=0 @ main:10\n").trace;
  trace.worlds.emplace_back();
  for (const Schedule& schedule : FindSchedules(trace, {.job_ended = true}, 10, 1)) {
    EXPECT_NE(schedule.lines, "barriers\n");
  }
}

TEST(FindSchedules, WritesPlansForManySenders) {
  const auto schedules = SchedulesOf(
      "ranks 300\n"
      "1-299: Send 1xMPI_INT peer=0 tag=0 @ main:20\n"
      "1-299: Send 1xMPI_INT peer=0 tag=0 @ main:20\n"
      "repeat 598\n"
      "0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
      "end\n");
  bool many = false;
  const auto plan = std::make_unique<steer::Plan>();
  for (const Schedule& schedule : schedules) {
    const steer::PlanError error = steer::ParsePlan(PlanText(schedule, "host", 1000), plan.get());
    EXPECT_EQ(error.what, nullptr) << error.what << ": " << schedule.lines;
    many |= plan->held_count > 298;
  }
  EXPECT_TRUE(many);
}

TEST(FindSchedules, LeavesJobsWhoseRanksNoPlanCanName) {
  Trace trace = ParseTextTrace("ranks 2\n0-1: Bcast 1xMPI_INT root=0 @ main:10\n").trace;
  trace.processes[1].rank = steer::kMaxRanks;
  EXPECT_THAT(FindSchedules(trace, {.job_ended = true}, 10, 1), IsEmpty());
}

TEST(TitleOf, CleansTheTextOfTheFile) {
  EXPECT_THAT(TitleOf("rollcall-steer 1\n# a\x1b[2Jb\nbarriers\n"), Not(HasSubstr("\x1b")));
}

TEST(FindSchedules, DoesNotCountMessagesOfLostRecords) {
  EXPECT_THAT(LinesOf("ranks 3\n"
                      "1-2: keeps 1\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "2: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "1: Ssend 1xMPI_INT peer=0 tag=0 @ main:20\n"
                      "0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"),
              IsEmpty());
}

constexpr std::string_view kManyMessages =
    "ranks 4\n"
    "repeat 5\n"
    "  1-3: Send 1xMPI_INT peer=0 tag=0 @ main:20\n"
    "end\n"
    "repeat 15\n"
    "  0: Recv 1xMPI_INT peer=any tag=0 @ main:10\n"
    "end\n";

TEST(FindSchedules, CutsAndFillsToTheNumber) {
  EXPECT_EQ(SchedulesOf(kManyMessages, 4).size(), 4u);
  const std::vector<Schedule> many = SchedulesOf(kManyMessages, 60);
  ASSERT_EQ(many.size(), 60u);
  EXPECT_THAT(many.front().lines, "synchronous\n");
  EXPECT_TRUE(many.back().lines.starts_with("slow ") || many.back().lines.starts_with("delay "));
  for (size_t i = 1; i < many.size(); ++i) EXPECT_GE(many[i - 1].suspicion, many[i].suspicion);
}

TEST(FindSchedules, TheSeedDecidesAndNothingElse) {
  const auto first = SchedulesOf(kManyMessages, 60, 7);
  EXPECT_EQ(first, SchedulesOf(kManyMessages, 60, 7));
  EXPECT_NE(first, SchedulesOf(kManyMessages, 60, 8));
}

TEST(FindSchedules, ARunWithoutCallsHasNone) { EXPECT_THAT(SchedulesOf("ranks 2\n"), IsEmpty()); }

TEST(PlanText, IsAPlanForEverySchedule) {
  for (const Schedule& schedule : SchedulesOf(kManyMessages, 60)) {
    const std::string text = PlanText(schedule, "node0", 1500);
    const auto plan = std::make_unique<steer::Plan>();
    const steer::PlanError error = steer::ParsePlan(text, plan.get());
    EXPECT_EQ(error.what, nullptr) << text;
    EXPECT_EQ(plan->bound_ms, 1500u);
    EXPECT_EQ(TitleOf(text), schedule.title);
  }
  EXPECT_EQ(TitleOf("rollcall-steer 1\nbarriers\n"), "");
}

}  // namespace
}  // namespace rollcall
