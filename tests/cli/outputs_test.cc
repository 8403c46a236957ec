// SPDX-License-Identifier: Apache-2.0
// --output: accepted values, and where the output is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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
using testing::StartsWith;

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() {
    MegatronJob job{Shape{2, 2, 1, 1, 2, 2, 1}};
    job.ranks()[2].host_stops_at = 9;
    job.Simulate();
    std::mt19937 random(1);
    const auto files = job.Dumps(DumpStyle{}, &random);
    for (size_t r = 0; r < files.size(); ++r) {
      directory_.Write("dumps/" + std::to_string(r), files[r]);
    }
  }

  Outcome Analyze(std::vector<std::string> words) const {
    words.insert(words.begin(), {ROLLCALL_BIN, "analyze", Path("dumps")});
    return RunCommand(words);
  }
  std::string Path(const std::string& name) const { return directory_.Path(name); }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryDirectory directory_;
};

TEST_F(OutputsTest, OutputWithoutPathReplacesTheText) {
  const Outcome outcome = Analyze({"--output", "json"});
  EXPECT_EQ(outcome.exit_code(), 1) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("{\n  \"format\": \"rollcall-verdict\""));
  EXPECT_EQ(Analyze({"--output=json=-"}).out, outcome.out);
  EXPECT_EQ(Analyze({"--json", "-"}).out, outcome.out);
}

TEST_F(OutputsTest, OutputsWithPathsAreWrittenInAdditionToTheText) {
  const Outcome outcome =
      Analyze({"--output", "json=" + Path("a.json"), "--output", "text=" + Path("b=c.txt")});
  EXPECT_EQ(outcome.exit_code(), 1) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("rollcall: "));
  EXPECT_EQ(Read("b=c.txt"), outcome.out);
  EXPECT_EQ(Read("a.json"), Analyze({"--json", "-"}).out);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 2U) << "partial files are left";
}

TEST_F(OutputsTest, WritesToDevicesAndLinksWithoutReplacingThem) {
  EXPECT_EQ(Analyze({"--output", "json=/dev/stderr"}).err, Analyze({"--json", "-"}).out);
  fs::create_symlink(directory_.Write("target", "old"), Path("link"));
  EXPECT_EQ(Analyze({"--output", "json=" + Path("link")}).exit_code(), 1);
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read("target"), Analyze({"--json", "-"}).out);
}

TEST_F(OutputsTest, UsageErrorsGiveExitCode2) {
  const Outcome unknown = Analyze({"--output", "yaml=x"});
  EXPECT_EQ(unknown.exit_code(), 2);
  EXPECT_THAT(unknown.err, HasSubstr("no output 'yaml'; there are text, "));
  EXPECT_EQ(Analyze({"--output", "json="}).exit_code(), 2);
  EXPECT_EQ(Analyze({"--output", "json", "--output", "text"}).exit_code(), 2);
  // The output of the job would be mixed with the verdict.
  const Outcome mixed = RunCommand({ROLLCALL_BIN, "run", "--output", "json", "--", "true"});
  EXPECT_EQ(mixed.exit_code(), 2);
  EXPECT_THAT(mixed.err, HasSubstr("standard output belongs to the job"));
}

TEST_F(OutputsTest, ErrorNamesUnwritableFile) {
  const Outcome outcome = Analyze({"--output", "json=" + Path("no/such/directory.json")});
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_THAT(outcome.err, HasSubstr("no/such/directory.json: No such file"));
}

}  // namespace
}  // namespace rollcall
