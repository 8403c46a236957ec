// SPDX-License-Identifier: Apache-2.0
// `rollcall attach --core`: errors of usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

TEST(AttachTest, CoreRejectsOptionsForRunningJobsAndDirectoriesWithoutCores) {
  const TemporaryDirectory directory;
  const std::vector<std::string> command = {ROLLCALL_BIN, "attach", "--core", directory.path()};
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--pid", "1"}, {"--between", "1"}, {"--confirm", "0"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = RunCommand(words);
    EXPECT_EQ(outcome.exit_code(), 2);
    EXPECT_THAT(outcome.err, HasSubstr(more.front()));
  }
  const Outcome outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code(), 2);
  EXPECT_THAT(outcome.err, HasSubstr("no core file of a rank"));
}

}  // namespace
}  // namespace rollcall
