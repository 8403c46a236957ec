// The jobs of tests/bench/ring_scale_bench.cc in small: each planted fault, written as rings,
// loaded and named. No time is taken here.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/run_directory.h"
#include "tests/bench/ring_job_files.h"
#include "tests/bench/ring_job_verdict.h"
#include "tests/temporary_directory.h"

namespace rollcall::ring_job {
namespace {

class PlantedFault : public testing::TestWithParam<Fault> {
 protected:
  TemporaryDirectory directory_;
};

TEST_P(PlantedFault, IsNamedFromRings) {
  const Job job({128, 200, GetParam()});
  WriteRings(job, directory_.path());
  Trace trace = LoadTrace({directory_.path()});
  NamePlaces(&trace);
  EXPECT_TRUE(trace.problems.empty());
  DiagnoseOptions options;
  options.job_ended = true;
  EXPECT_EQ(VerdictText(Diagnose(trace, options)), ExpectedText(job));
}

INSTANTIATE_TEST_SUITE_P(Every, PlantedFault,
                         testing::Values(Fault::kNone, Fault::kSkipped, Fault::kReplaced,
                                         Fault::kCount, Fault::kRoot, Fault::kInverted,
                                         Fault::kShort, Fault::kRing, Fault::kStalled,
                                         Fault::kExited),
                         [](const auto& info) { return std::string(FaultName(info.param)); });

}  // namespace
}  // namespace rollcall::ring_job
