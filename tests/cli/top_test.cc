// SPDX-License-Identifier: Apache-2.0
// rollcall top without a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/launch/collector_file.h"
#include "tests/cli/command_line.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;

Outcome Top(std::vector<std::string> words) {
  words.insert(words.begin(), {ROLLCALL_BIN, "top"});
  return RunCommand(std::move(words), "", nullptr, [] {
    unsetenv("ROLLCALL_TOKEN");
    // Debian's gRPC is not built with ThreadSanitizer, so its reports do not concern rollcall.
    if (kThreadSanitizer) setenv("TSAN_OPTIONS", "report_bugs=0", 1);
  });
}

TEST(TopTest, NamesWhatIsMissing) {
  const TemporaryDirectory directory;
  const Outcome no_run = Top({directory.path()});
  EXPECT_EQ(no_run.exit_code(), 2);
  EXPECT_THAT(no_run.err, HasSubstr("no `rollcall run` is running in " + directory.path()));
  const Outcome no_token = Top({"127.0.0.1:1"});
  EXPECT_EQ(no_token.exit_code(), 2);
  EXPECT_THAT(no_token.err, HasSubstr("ROLLCALL_TOKEN"));
  EXPECT_EQ(Top({"--json"}).exit_code(), 2);
}

TEST(TopTest, SaysThatNoCollectorAnswers) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(WriteCollectorFile(directory.path(),
                                 {.address = "127.0.0.1:1", .token = "0123456789abcdef"}));
  const Outcome gone = Top({"--once", directory.path()});
  EXPECT_EQ(gone.exit_code(), 2);
  EXPECT_THAT(gone.err, HasSubstr("rollcall: "));
  const Outcome no_terminal = Top({directory.path()});
  EXPECT_EQ(no_terminal.exit_code(), 2);
  EXPECT_THAT(no_terminal.err, HasSubstr("no terminal"));
}

}  // namespace
}  // namespace rollcall
