// SPDX-License-Identifier: Apache-2.0
// The verdicts on two real incidents of 16 ranks each. Their dumps are not part of the repository.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"

namespace rollcall::flight_recorder {
namespace {

namespace fs = std::filesystem;

// ROLLCALL_FR_DUMPS, or shared/fr-dumps in the project or beside it.
fs::path Incidents() {
  if (const char* path = std::getenv("ROLLCALL_FR_DUMPS")) return path;
  for (const char* path : {"/../shared/fr-dumps", "/shared/fr-dumps"}) {
    const fs::path dumps = std::string(ROLLCALL_SOURCE_DIR) + path;
    if (fs::is_directory(dumps)) return dumps;
  }
  return {};
}

void Check(const std::string& folder, VerdictKind kind, const std::vector<int32_t>& culprits) {
  const fs::path dumps = Incidents() / folder;
  if (!fs::is_directory(dumps)) {
    GTEST_SKIP() << "no " << folder << ": ROLLCALL_FR_DUMPS says where the dumps are";
  }
  const Trace trace = LoadInputs({dumps.string()}).trace;
  EXPECT_EQ(trace.processes.size(), 16u);
  EXPECT_TRUE(trace.problems.empty());
  DiagnoseOptions options;
  options.job_ended = true;
  const Report report = Diagnose(trace, options);
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.kind, kind) << finding.title;
  EXPECT_EQ(finding.culprits, culprits) << finding.title;
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
  EXPECT_TRUE(finding.hangs);
}

TEST(FlightRecorderIncidents, NamesTheHostsThatHoldTheLock) {
  Check("lock_gil_1st", VerdictKind::kRankStalled, {9, 14});
}

TEST(FlightRecorderIncidents, NamesTheGpusThatStopped) {
  Check("gpu_error_1st", VerdictKind::kGpuStalled, {12, 14});
}

}  // namespace
}  // namespace rollcall::flight_recorder
