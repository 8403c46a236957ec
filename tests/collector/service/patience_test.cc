#include "collector/service/patience.h"

#include <gtest/gtest.h>

#include <string>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"

namespace rollcall::service {
namespace {

constexpr int64_t kThresholdNs = 1'000'000'000;
constexpr int64_t kLongAgo = 3600 * kThresholdNs;

int64_t PatienceWith(const std::string& text, int64_t since_last_agent_ns = kLongAgo) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{});
  const Report report = Diagnose(parsed.trace, {.stall_after_ns = kThresholdNs});
  EXPECT_FALSE(report.findings.empty());
  return Patience(parsed.trace, report, since_last_agent_ns);
}

TEST(PatienceTest, ReportsHangAtOnceIfNoRankMoves) {
  EXPECT_EQ(PatienceWith(R"(
    ranks 3
    0: exits 0
    1-2: waits in Barrier @ main:7
  )"),
            0);
}

TEST(PatienceTest, DelaysReportWhileARankMoves) {
  EXPECT_GT(PatienceWith(R"(
    ranks 4
    0: exits 0
    1-2: waits in Barrier @ main:7
    3: moves
  )"),
            0);
}

TEST(PatienceTest, WaitsLongerForMissingTracesAfterAnAgentConnected) {
  const std::string text = R"(
    ranks 4
    idle 40
    0-1: waits in Barrier @ main:7
    2-3: has no trace
  )";
  EXPECT_GT(PatienceWith(text, 0), PatienceWith(text));
}

}  // namespace
}  // namespace rollcall::service
