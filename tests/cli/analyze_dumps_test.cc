// SPDX-License-Identifier: Apache-2.0
// `rollcall analyze` on Flight Recorder dumps: it recognises them by content, takes ranks from file
// names, and sets the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/command_line.h"
#include "tests/support/megatron_job.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using flight_recorder::DumpStyle;
using flight_recorder::MegatronJob;
using flight_recorder::Shape;
using testing::HasSubstr;

class AnalyzeDumps : public testing::Test {
 protected:
  AnalyzeDumps() {
    job_.ranks()[2].host_stops_at = 9;
    job_.Simulate();
  }

  void Write(const std::string& before, const std::string& after) {
    std::mt19937 random(1);
    const auto files = job_.Dumps(DumpStyle{}, &random);
    for (size_t r = 0; r < files.size(); ++r) {
      const fs::path file = directory_.Path(before + std::to_string(r) + after);
      std::ofstream(file, std::ios::binary) << files[r];
      // Written long after the job's last operation.
      fs::last_write_time(file, fs::file_time_type::clock::now());
    }
  }
  Outcome Analyze(std::vector<std::string> words) {
    words.insert(words.begin(), {ROLLCALL_BIN, "analyze"});
    return RunCommand(words);
  }

  MegatronJob job_{Shape{2, 2, 1, 1, 2, 2, 1}};
  const TemporaryDirectory directory_;
};

TEST_F(AnalyzeDumps, NamesTheCulprit) {
  Write("_dump_", "");
  std::ofstream(directory_.Path("train.log")) << "step 1\n";
  const Outcome outcome = Analyze({directory_.path()});
  EXPECT_EQ(outcome.exit_code(), 1) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("rank 2 stopped outside every operation"));
  EXPECT_THAT(outcome.out, HasSubstr("training.py:"));
}

TEST_F(AnalyzeDumps, RankPatternGivesRanksAndNeedsAGroup) {
  Write("rank", "-of-4.bin2");
  const Outcome with = Analyze({"--rank-pattern", "rank([0-9]+)-", directory_.path()});
  EXPECT_EQ(with.exit_code(), 1) << with.err;
  EXPECT_THAT(with.out, HasSubstr("rank 2 stopped"));
  EXPECT_EQ(Analyze({"--rank-pattern", "rank[0-9]+", directory_.path()}).exit_code(), 2);
}

TEST_F(AnalyzeDumps, ReportsDamagedFilesOnStderrAndUsesTheRest) {
  Write("_dump_", "");
  fs::resize_file(directory_.Path("_dump_0"), 300);
  std::ofstream(directory_.Path("_dump_3"), std::ios::binary | std::ios::trunc)
      << "\x80\x02"
         "cos\nsystem\n(X\x02";
  const Outcome outcome = Analyze({directory_.path()});
  EXPECT_EQ(outcome.exit_code(), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("_dump_0: at byte "));
  EXPECT_THAT(outcome.err, HasSubstr("_dump_3: at byte 2: opcode GLOBAL does not occur"));
  EXPECT_THAT(outcome.out, HasSubstr("rank 2"));
  EXPECT_THAT(outcome.out, HasSubstr("no trace of rank"));
}

TEST_F(AnalyzeDumps, BundleGivesTheSameVerdict) {
  Write("_dump_", "");
  const std::string said = Analyze({directory_.path()}).out;
  const std::string bundle = directory_.path() + ".bundle";
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "bundle", directory_.path(), "-o", bundle}).exit_code(), 0);
  const Outcome outcome = Analyze({bundle});
  fs::remove(bundle);
  EXPECT_EQ(outcome.exit_code(), 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, said);
}

TEST_F(AnalyzeDumps, DirectoryWithoutTracesIsAnError) {
  std::ofstream(directory_.Path("notes.txt")) << "nothing\n";
  const Outcome outcome = Analyze({directory_.path()});
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_THAT(outcome.err, HasSubstr("no traces in this directory"));
}

}  // namespace
}  // namespace rollcall
