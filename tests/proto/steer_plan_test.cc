// SPDX-License-Identifier: Apache-2.0
#include "proto/steer_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rollcall::steer {
namespace {

struct Parsed {
  std::unique_ptr<Plan> plan = std::make_unique<Plan>();
  PlanError error;
};

Parsed ParseText(const std::string& text) {
  Parsed parsed;
  parsed.error = ParsePlan(text, parsed.plan.get());
  return parsed;
}

Parsed ParseBody(const std::string& lines) {
  return ParseText(std::string(kPlanHeader) + "\n" + lines);
}

TEST(SteerPlan, ReadsEveryLine) {
  const Parsed parsed = ParseBody(
      "# rank 1 first\n"
      "\n"
      "host node7\n"
      "bound 2500\n"
      "synchronous 3\n"
      "barriers\n"
      "first 0 1:2 before 2:1 3:4\n"
      "first 5 6:1 before 7:1\n"
      "delay 2 wait 9 40\n"
      "slow 4 200\n");
  ASSERT_EQ(parsed.error.what, nullptr) << parsed.error.line << ": " << parsed.error.what;
  const Plan& plan = *parsed.plan;
  EXPECT_STREQ(plan.host, "node7");
  EXPECT_EQ(plan.bound_ms, 2500u);
  EXPECT_TRUE(plan.synchronous);
  EXPECT_EQ(plan.synchronous_rank, 3);
  EXPECT_TRUE(plan.barriers);
  ASSERT_EQ(plan.first_count, 2u);
  EXPECT_EQ(plan.first[0].to, 0u);
  EXPECT_EQ(plan.first[0].chosen.source, 1u);
  EXPECT_EQ(plan.first[0].chosen.number, 2u);
  EXPECT_EQ(plan.first[0].held_end - plan.first[0].held_begin, 2u);
  EXPECT_EQ(plan.held[1].source, 3u);
  EXPECT_EQ(plan.held[1].number, 4u);
  EXPECT_EQ(plan.first[1].held_begin, 2u);
  ASSERT_EQ(plan.delay_count, 1u);
  EXPECT_EQ(plan.delays[0].calls, Calls::kWait);
  EXPECT_EQ(plan.delays[0].number, 9u);
  EXPECT_EQ(plan.delays[0].ms, 40u);
  EXPECT_EQ(plan.slow_rank, 4);
  EXPECT_EQ(plan.slow_us, 200u);
}

TEST(SteerPlan, SynchronousWithoutARankIsForAll) {
  const Parsed parsed = ParseBody("synchronous\n");
  ASSERT_EQ(parsed.error.what, nullptr);
  EXPECT_TRUE(parsed.plan->synchronous);
  EXPECT_EQ(parsed.plan->synchronous_rank, -1);
}

TEST(SteerPlan, NamesTheLineThatIsWrong) {
  const Parsed parsed = ParseBody("bound 100\nbarriers\nrebind 1\n");
  EXPECT_EQ(parsed.error.line, 4u);
  EXPECT_STREQ(parsed.error.what, "unknown word");
}

TEST(SteerPlan, RejectsEveryDamage) {
  for (const char* line : {
           "host",
           "host ",
           "bound",
           "bound 0",
           "bound -1",
           "bound 1e3",
           "bound 99999999999",
           "bound 600001",
           "bound 10 10",
           "synchronous x",
           "synchronous 1 2",
           "synchronous 4096",
           "barriers 1",
           "first",
           "first 0",
           "first 0 1:1",
           "first 0 1:1 before",
           "first 0 1 before 2:1",
           "first 0 1:0 before 2:1",
           "first 0 1:1 after 2:1",
           "first 0 1:1 before 1:2",
           "first 0 1:1 before 2:",
           "first 0 1:1 before :1",
           "first 0 1:1 before 2:1 x",
           "first 0  1:1 before 2:1",
           "delay 0 poll 1 1",
           "delay 0 send 0 1",
           "delay 0 send 1",
           "delay 0 send 1 0",
           "slow 0",
           "slow 0 0",
           " barriers",
           "slow 0 1 ms",
       }) {
    EXPECT_NE(ParseBody(std::string(line) + "\n").error.what, nullptr) << line;
  }
}

TEST(SteerPlan, NeedsItsHeaderAndALastEnd) {
  for (const char* text :
       {"", "\n", "barriers\n", "rollcall-steer 2\nbarriers\n", "rollcall-steer 1"}) {
    EXPECT_EQ(ParseText(text).error.line, 1u) << text;
  }
  EXPECT_EQ(ParseBody("barriers").error.line, 2u);
}

TEST(SteerPlan, HasLimits) {
  std::string lines;
  for (size_t i = 0; i <= kMaxFirst; ++i) lines += "first 0 1:1 before 2:1\n";
  EXPECT_EQ(ParseBody(lines).error.line, kMaxFirst + 2);
  std::string held = "first 0 1:1 before";
  for (size_t i = 0; i <= kMaxHeld; ++i) held += " 2:1";
  EXPECT_EQ(ParseBody(held + "\n").error.line, 2u);
  std::string delays;
  for (size_t i = 0; i <= kMaxDelays; ++i) delays += "delay 0 send 1 1\n";
  EXPECT_EQ(ParseBody(delays).error.line, kMaxDelays + 2);
  EXPECT_NE(ParseBody("host " + std::string(kMaxHostName + 1, 'x') + "\n").error.what, nullptr);
  EXPECT_NE(ParseBody(std::string(kMaxPlanBytes, '#') + "\n").error.what, nullptr);
}

TEST(SteerPlan, HoldsAMessageOfEveryRankAndMore) {
  std::string lines = "first 0 0:4294967295 before";
  for (uint32_t rank = 1; rank < kMaxRanks; ++rank)
    lines += " " + std::to_string(rank) + ":4294967295";
  lines += "\n";
  for (size_t i = 1; i < kMaxFirst; ++i)
    lines += "first 0 4094:4294967295 before 4095:4294967295\n";
  const Parsed parsed = ParseBody(lines);
  EXPECT_EQ(parsed.error.what, nullptr) << parsed.error.line << ": " << parsed.error.what;
}

TEST(SteerPlan, TheLastHostCounts) {
  EXPECT_STREQ(ParseBody("host node1234\nhost n5\n").plan->host, "n5");
}

TEST(SteerPlan, CountsBlockingAndNonblockingSendsAlike) {
  EXPECT_TRUE(IsNumberedSend(Operation::kSend));
  EXPECT_TRUE(IsNumberedSend(Operation::kIssend));
  EXPECT_FALSE(IsNumberedSend(Operation::kSendrecv));
  EXPECT_FALSE(IsNumberedSend(Operation::kIsendrecv));
  EXPECT_FALSE(IsStandardSend(Operation::kBsend));
  EXPECT_TRUE(MayReturnEarly(FindOperation(static_cast<uint16_t>(Operation::kBcast))));
  EXPECT_FALSE(MayReturnEarly(FindOperation(static_cast<uint16_t>(Operation::kBarrier))));
  EXPECT_FALSE(MayReturnEarly(FindOperation(static_cast<uint16_t>(Operation::kNeighbor_alltoall))));
  EXPECT_FALSE(MayReturnEarly(FindOperation(static_cast<uint16_t>(Operation::kIbcast))));
}

}  // namespace
}  // namespace rollcall::steer
