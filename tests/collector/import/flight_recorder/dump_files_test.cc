// SPDX-License-Identifier: Apache-2.0
// Directories of dumps: the rank and the job of each file, and the problems with unusable files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/append_trace.h"
#include "collector/import/flight_recorder/rank_pattern.h"
#include "collector/import/load_inputs.h"
#include "tests/support/megatron_job.h"
#include "tests/support/problem_codes.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::flight_recorder {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

NamedRank Named(const std::string& name) { return RankPattern().Find(name); }

TEST(FlightRecorderRankPattern, UsesTheLastDigitsByDefault) {
  EXPECT_EQ(Named("comm_lib_trace_rank_12").rank, 12);
  EXPECT_EQ(Named("_dump_0").rank, 0);
  EXPECT_EQ(Named("_dump_7.json").rank, 7);
  EXPECT_EQ(Named("_dump_7.json").prefix, "_dump_");
  EXPECT_EQ(Named("nccl_trace_rank_node4_31").rank, 31);
  EXPECT_EQ(Named("trace.3").rank, 3);
  EXPECT_EQ(Named("12").rank, 12);
  EXPECT_EQ(Named("notes.txt").rank, -1);
  EXPECT_EQ(Named("rank_99999999999999999999").rank, -1);
  EXPECT_EQ(Named("").rank, -1);
}

TEST(FlightRecorderRankPattern, UsesThePatternOfTheUser) {
  const auto pattern = RankPattern::Parse("rank([0-9]+)-of");
  ASSERT_TRUE(pattern) << pattern.error();
  EXPECT_EQ(pattern->Find("job7-rank3-of-8.pickle").rank, 3);
  EXPECT_EQ(pattern->Find("job7-rank3-of-8.pickle").prefix, "job7-rank");
  EXPECT_EQ(pattern->Find("_dump_3").rank, -1);
  EXPECT_FALSE(RankPattern::Parse("rank[0-9]+")) << "no group";
  EXPECT_NE(RankPattern::Parse("rank([0-9]+").error(), "");
}

class DumpDirectory : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) { directory_.Write(name, bytes); }
  static std::vector<std::string> Job(int culprit, bool json = false) {
    MegatronJob job(Shape{2, 2, 1, 1, 2, 2, 1});
    if (culprit >= 0) job.ranks()[static_cast<size_t>(culprit)].host_stops_at = 9;
    job.Simulate();
    DumpStyle style;
    style.json = json;
    std::mt19937 random(1);
    return job.Dumps(style, &random);
  }
  Trace Load() { return LoadInputs({directory_.path()}).trace; }
  static std::vector<int32_t> Culprits(const Trace& trace) {
    DiagnoseOptions options;
    options.job_ended = true;
    options.stall_after_ns = 0;  // the files are new
    std::vector<int32_t> culprits;
    for (const Finding& finding : Diagnose(trace, options).findings) {
      culprits.insert(culprits.end(), finding.culprits.begin(), finding.culprits.end());
    }
    return culprits;
  }

  const TemporaryDirectory directory_;
};

TEST_F(DumpDirectory, IgnoresFilesThatAreNotDumps) {
  const auto files = Job(2);
  for (size_t r = 0; r < 4; ++r) Write("_dump_" + std::to_string(r), files[r]);
  Write("train.log", "step 12\n");
  Write("config.json", "{\"layers\": 4}");
  Write("checkpoint_12", "weights");
  fs::create_symlink(directory_.Path("_dump_0"), directory_.Path("_dump_9"));
  const Trace trace = Load();
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_THAT(trace.processes, SizeIs(4));
  ASSERT_THAT(trace.worlds, SizeIs(1));
  EXPECT_EQ(trace.worlds[0].size, 4);
  EXPECT_THAT(Culprits(trace), ElementsAre(2));
}

TEST_F(DumpDirectory, PickleAndJsonInOneJob) {
  const auto pickles = Job(1);
  const auto json = Job(1, /*json=*/true);
  for (size_t r = 0; r < 4; ++r) {
    Write("rank_" + std::to_string(r) + (r % 2 == 0 ? "" : ".json"),
          (r % 2 == 0 ? pickles : json)[r]);
  }
  const Trace trace = Load();
  EXPECT_THAT(trace.processes, SizeIs(4));
  EXPECT_THAT(Culprits(trace), ElementsAre(1));
}

TEST_F(DumpDirectory, NamesDamagedDumpsAndUsesTheRest) {
  const auto files = Job(1);
  Write("_dump_0", files[0]);
  Write("_dump_1", files[1]);
  Write("_dump_2", "");
  Write("_dump_3", files[3].substr(0, 200));
  Write("_dump_x", files[0]);
  const Trace trace = Load();
  ASSERT_THAT(Codes(trace.problems),
              ElementsAre(ProblemCode::kUnnamed, ProblemCode::kTruncated, ProblemCode::kTruncated));
  EXPECT_THAT(trace.problems[0].message, HasSubstr("--rank-pattern"));
  EXPECT_THAT(trace.problems[0].source, HasSubstr("_dump_x"));
  EXPECT_THAT(trace.problems[1].source, HasSubstr("_dump_3"));
  EXPECT_GT(trace.problems[1].offset, 100);
  EXPECT_THAT(trace.problems[2].message,
              HasSubstr("the file is empty: the file has no data of rank 2"));
  EXPECT_THAT(trace.worlds, SizeIs(1));
  EXPECT_THAT(Culprits(trace), ElementsAre(1));
}

TEST_F(DumpDirectory, ReportsARankWithTwoDumps) {
  const auto files = Job(2);
  for (size_t r = 0; r < 4; ++r) Write("_dump_" + std::to_string(r), files[r]);
  Write("_dump_03", files[3]);
  const Trace trace = Load();
  EXPECT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDuplicate));
  EXPECT_THAT(Culprits(trace), ElementsAre(2));
}

TEST_F(DumpDirectory, SeparatesTwoJobsInOneDirectory) {
  const auto one = Job(2);
  const auto two = Job(-1);
  for (size_t r = 0; r < 4; ++r) {
    Write("monday_rank_" + std::to_string(r), one[r]);
    Write("tuesday_rank_" + std::to_string(r), two[r]);
    Write("other/_dump_" + std::to_string(r), two[r]);
  }
  MegatronJob larger(Shape{2, 2, 2, 1, 2, 2, 1});
  larger.Simulate();
  std::mt19937 random(1);
  const auto three = larger.Dumps({}, &random);
  for (size_t r = 0; r < 8; ++r) Write("wednesday_rank_" + std::to_string(r), three[r]);
  const Trace trace = Load();
  EXPECT_THAT(trace.problems, IsEmpty());
  EXPECT_THAT(trace.worlds, SizeIs(4));
  EXPECT_THAT(Culprits(trace), ElementsAre(2));
}

TEST_F(DumpDirectory, AcceptsHostNamesBeforeTheRank) {
  const auto files = Job(0);
  for (size_t r = 0; r < 4; ++r) {
    Write("nccl_trace_rank_host" + std::to_string(r / 2) + "_" + std::to_string(r), files[r]);
  }
  const Trace trace = Load();
  EXPECT_THAT(trace.worlds, SizeIs(1));
  EXPECT_THAT(Culprits(trace), ElementsAre(0));
}

TEST_F(DumpDirectory, ReadsASingleFile) {
  Write("_dump_2", Job(0)[2]);
  const Trace trace = LoadInputs({directory_.Path("_dump_2")}).trace;
  EXPECT_THAT(trace.problems, IsEmpty());
  ASSERT_THAT(trace.processes, SizeIs(1));
  EXPECT_EQ(trace.processes[0].rank, 2);
  EXPECT_THAT(Culprits(trace), IsEmpty()) << "a missing dump makes no rank guilty";
}

// Two jobs in one trace: each index must still refer to an object of its own job.
TEST_F(DumpDirectory, JoinsTracesWithoutMixingThem) {
  const auto files = Job(3);
  for (size_t r = 0; r < 4; ++r) Write("_dump_" + std::to_string(r), files[r]);
  Trace both = Load();
  AppendTrace(Load(), &both);
  EXPECT_THAT(both.worlds, SizeIs(2));
  EXPECT_THAT(both.processes, SizeIs(8));
  EXPECT_EQ(both.processes[5].world, 1u);
  EXPECT_THAT(Culprits(both), ElementsAre(3, 3));
}

}  // namespace
}  // namespace rollcall::flight_recorder
