// SPDX-License-Identifier: Apache-2.0
// `rollcall check` with programs that are not MPI jobs: exit codes, and errors that are reported
// before the job starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

class CheckTest : public ::testing::Test {
 protected:
  Outcome Check(std::vector<std::string> options, const std::vector<std::string>& command) {
    options.insert(options.begin(), {ROLLCALL_BIN, "check", "--dir", directory_.Path("run")});
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return RunCommand(options);
  }
  TemporaryDirectory directory_;
};

TEST_F(CheckTest, JobWithoutRanksPassesOnlyWithAllowNoRanks) {
  const Outcome outcome = Check({}, {"echo", "hello"});
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_THAT(outcome.err, HasSubstr("no rank was recorded"));
  std::filesystem::remove_all(directory_.Path("run"));
  EXPECT_EQ(Check({"--allow-no-ranks"}, {"true"}).exit_code(), 0);
}

TEST_F(CheckTest, FailureOfTheJobItselfGivesExitCode3) {
  const Outcome outcome = Check({}, {"sh", "-c", "exit 5"});
  EXPECT_EQ(outcome.exit_code(), 3);
  EXPECT_THAT(outcome.err, HasSubstr("the job itself ended with exit code 5"));
}

TEST_F(CheckTest, NamesTheSignalThatEndedTheJob) {
  EXPECT_THAT(Check({}, {"sh", "-c", "kill -KILL $$"}).err,
              HasSubstr("check failed: the job itself was ended by SIGKILL\n"));
  std::filesystem::remove_all(directory_.Path("run"));
  const std::string asked = "trap 'exit 1' TERM; kill -TERM $PPID; while :; do sleep 0.01; done";
  EXPECT_THAT(
      Check({}, {"sh", "-c", asked}).err,
      HasSubstr("the job itself ended with exit code 1 after check had received SIGTERM\n"));
}

TEST_F(CheckTest, TimeoutEndsTheJob) {
  const std::string json = directory_.Path("verdict.json");
  const Outcome outcome = Check({"--timeout", "0.2", "--output", "json=" + json}, {"sleep", "60"});
  EXPECT_EQ(outcome.exit_code(), 1);
  EXPECT_THAT(outcome.err, HasSubstr("the job did not end within 0.2 s"));
  std::ifstream file(json);
  const auto verdict = nlohmann::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_EQ(verdict["findings"][0]["kind"], "timed-out");
  EXPECT_EQ(verdict["job"]["ended_by_rollcall"], true);
  EXPECT_EQ(verdict["job"]["command"][0], "sleep");
}

TEST_F(CheckTest, UsageErrorsGiveExitCode2) {
  EXPECT_EQ(Check({}, {}).exit_code(), 2);
  EXPECT_EQ(Check({"--timeout", "-1"}, {"true"}).exit_code(), 2);
  EXPECT_EQ(Check({"--output", "yaml"}, {"true"}).exit_code(), 2);
  EXPECT_THAT(Check({"--fail-on", "everything"}, {"true"}).err,
              HasSubstr("--fail-on: 'everything' is not a kind of finding"));
  EXPECT_EQ(Check({}, {"/no/such/launcher"}).exit_code(), 2);
}

TEST_F(CheckTest, InvalidBaselineIsRefusedBeforeTheJobStarts) {
  const std::string baseline = directory_.Write("known", "# known\np2p-deadlock in main\n");
  const Outcome outcome = Check({"--baseline", baseline}, {"echo", "started"});
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(baseline + ":2: no reason"));
  EXPECT_THAT(Check({"--baseline", directory_.Path("none")}, {"true"}).err,
              HasSubstr("/none: cannot be read"));
}

TEST_F(CheckTest, DoesNotStartTheJobIfTheDirectoryIsUnusable) {
  std::filesystem::create_directory(directory_.Path("run"));
  std::filesystem::permissions(directory_.Path("run"), std::filesystem::perms(0755));
  const Outcome outcome = Check({}, {"echo", "started"});
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace rollcall
