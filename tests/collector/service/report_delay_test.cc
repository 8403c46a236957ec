// SPDX-License-Identifier: Apache-2.0
#include "collector/service/report_delay.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"

namespace rollcall::service {
namespace {

constexpr int64_t kThresholdNs = 1'000'000'000;
constexpr int64_t kLongAgo = 3600 * kThresholdNs;

int64_t ReportDelayWith(const std::string& text, int64_t since_last_agent_ns = kLongAgo) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{});
  const Report report = Diagnose(parsed.trace, {.stall_after_ns = kThresholdNs});
  EXPECT_FALSE(report.findings.empty());
  return ReportDelay(parsed.trace, report, since_last_agent_ns);
}

TEST(ReportDelayTest, ReportsHangAtOnceIfNoRankMoves) {
  EXPECT_EQ(ReportDelayWith(R"(
    ranks 3
    0: exits 0
    1-2: waits in Barrier @ main:7
  )"),
            0);
}

TEST(ReportDelayTest, DelaysReportWhileARankMoves) {
  EXPECT_GT(ReportDelayWith(R"(
    ranks 4
    0: exits 0
    1-2: waits in Barrier @ main:7
    3: moves
  )"),
            0);
}

TEST(ReportDelayTest, WaitsLongerForMissingTracesAfterAnAgentConnected) {
  const std::string text = R"(
    ranks 4
    idle 40
    0-1: waits in Barrier @ main:7
    2-3: has no trace
  )";
  EXPECT_GT(ReportDelayWith(text, 0), ReportDelayWith(text));
}

}  // namespace
}  // namespace rollcall::service
