// SPDX-License-Identifier: Apache-2.0
// Small versions of the jobs of tests/bench/ring_scale_bench.cc: each planted fault is written as
// rings, loaded and diagnosed. No time is measured here.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/ring_job_verdict.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::ring_job {
namespace {

class PlantedFault : public testing::TestWithParam<Fault> {
 protected:
  TemporaryDirectory directory_;
};

enum class Symbols { kFound, kMissing };

Report DiagnoseRings(const Job& job, const std::string& directory, Symbols symbols) {
  WriteRings(job, directory);
  Trace trace = LoadInputs({directory}).trace;
  if (symbols == Symbols::kFound) NamePlaces(&trace);
  EXPECT_TRUE(trace.problems.empty());
  DiagnoseOptions options;
  options.job_ended = true;
  return Diagnose(trace, options);
}

TEST_P(PlantedFault, IsDiagnosedFromRings) {
  const Job job({128, 200, GetParam()});
  EXPECT_EQ(VerdictText(DiagnoseRings(job, directory_.path(), Symbols::kFound)), ExpectedText(job));
}

// With 256 ranks a data group is as large as a tensor group. In one of them a rank is missing that
// waits because of the fault, in the other the culprit is missing, and equally many ranks wait for
// each.
class ShortLoop : public testing::TestWithParam<Symbols> {
 protected:
  TemporaryDirectory directory_;
};

TEST_P(ShortLoop, IsDistinguishedFromItsConsequences) {
  const Job job({256, 200, Fault::kShort});
  EXPECT_EQ(VerdictText(DiagnoseRings(job, directory_.path(), GetParam())), ExpectedText(job));
}

TEST_P(ShortLoop, DoesNotStateIterationsThatAreNotRecorded) {
  const Job job({128, 200, Fault::kShort});
  const Report report = DiagnoseRings(job, directory_.path(), GetParam());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_NE(report.findings[0].title.find("instead of its next "), std::string::npos)
      << report.findings[0].title;
}

INSTANTIATE_TEST_SUITE_P(Every, ShortLoop, testing::Values(Symbols::kFound, Symbols::kMissing),
                         [](const auto& info) {
                           return info.param == Symbols::kFound ? "named" : "nameless";
                         });

INSTANTIATE_TEST_SUITE_P(Every, PlantedFault,
                         testing::Values(Fault::kNone, Fault::kSkipped, Fault::kReplaced,
                                         Fault::kCount, Fault::kRoot, Fault::kInverted,
                                         Fault::kShort, Fault::kRing, Fault::kStalled,
                                         Fault::kExited),
                         [](const auto& info) { return std::string(FaultName(info.param)); });

}  // namespace
}  // namespace rollcall::ring_job
