// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/node_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct NodeOutput {
  std::vector<std::string> failures;
  std::vector<std::string> lines;  // "<index> <stream> <line>"
};

NodeOutput RunShells(const std::vector<std::string>& scripts,
                     const NodeCommandLimits& limits = {}) {
  std::vector<std::vector<std::string>> commands;
  commands.reserve(scripts.size());
  for (const std::string& script : scripts) commands.push_back({"sh", "-c", script});
  NodeOutput output;
  output.failures =
      RunNodeCommands(commands, limits, [&](size_t index, int stream, std::string_view line) {
        output.lines.push_back(std::to_string(index) + " " + std::to_string(stream) + " " +
                               std::string(line));
        return line == "waits";
      });
  return output;
}

TEST(NodeCommands, ReportLinesOfBothStreams) {
  const NodeOutput output = RunShells({"echo one; echo two >&2; printf three"});
  EXPECT_THAT(output.failures, ElementsAre(""));
  EXPECT_THAT(output.lines, ::testing::UnorderedElementsAre("0 1 one", "0 2 two", "0 1 three"));
}

TEST(NodeCommands, RunConcurrently) {
  // Each command waits for the file that the other one creates.
  const std::string directory = ::testing::TempDir() + "/node_commands_" + std::to_string(getpid());
  const std::string wait = "mkdir -p " + directory + "; touch " + directory + "/$$; until [ $(ls " +
                           directory + " | wc -l) = 2 ]; do :; done; echo met";
  EXPECT_THAT(RunShells({wait, wait}).lines, ::testing::UnorderedElementsAre("0 1 met", "1 1 met"));
}

TEST(NodeCommands, ReportReasonsOfFailures) {
  EXPECT_THAT(RunShells({"exit 7", "kill -9 $$"}).failures,
              ElementsAre("exit code 7", "ended by signal 9"));
  const std::vector<std::string> failures =
      RunNodeCommands({{"/nowhere/rsh"}}, {}, [](size_t, int, std::string_view) { return false; });
  EXPECT_THAT(failures, ElementsAre("/nowhere/rsh: No such file or directory"));
}

TEST(NodeCommands, SilentCommandIsEndedAndOthersContinue) {
  const NodeOutput output =
      RunShells({"trap '' TERM; tail -f /dev/null", "echo here"}, {.silence = milliseconds(300)});
  EXPECT_THAT(output.failures, ElementsAre("no answer for 300 ms", ""));
  EXPECT_THAT(output.lines, ElementsAre("1 1 here"));
}

TEST(NodeCommands, CommandsBeyondTimeOrOutputLimitAreEnded) {
  EXPECT_THAT(RunShells({"while :; do echo; done"},
                        {.total = milliseconds(300), .output_bytes = size_t{1} << 40})
                  .failures,
              ElementsAre("it takes longer than 300 ms"));
  EXPECT_THAT(RunShells({"cat /dev/zero"}, {.output_bytes = 1 << 20}).failures,
              ElementsAre("it printed more than the limit"));
}

TEST(NodeCommands, LongLinesAreSplit) {
  const NodeOutput output = RunShells({"head -c 200000 /dev/zero | tr '\\0' x"});
  ASSERT_THAT(output.lines, ::testing::Not(IsEmpty()));
  size_t bytes = 0;
  for (const std::string& line : output.lines) {
    EXPECT_LE(line.size(), size_t{130 << 10});
    bytes += line.size() - 4;
  }
  EXPECT_EQ(bytes, 200'000U);
}

TEST(NodeCommands, ChildrenEndWithTheirCommand) {
  const NodeOutput output = RunShells({"sleep 600 & echo $!"});
  EXPECT_THAT(output.failures, ElementsAre(""));
  ASSERT_THAT(output.lines, ::testing::SizeIs(1));
  const pid_t child = std::stoi(output.lines[0].substr(4));
  // The pidfd is readable after the child has ended, which may take a moment.
  pollfd ended = {static_cast<int>(syscall(SYS_pidfd_open, child, 0)), POLLIN, 0};
  if (ended.fd >= 0) {
    EXPECT_EQ(poll(&ended, 1, 30'000), 1);
    close(ended.fd);
  } else {
    EXPECT_EQ(errno, ESRCH);
  }
}

// A command that waits continues when all others wait or have ended.
TEST(NodeCommands, WaitingCommandsContinueTogether) {
  const std::string wait = "echo waits; read line; echo on";
  const std::vector<std::string> lines = RunShells({wait, "echo before; " + wait}).lines;
  ASSERT_EQ(lines.size(), 5U);
  // Both continue at the same time, and either may print first.
  EXPECT_THAT(std::vector<std::string>(lines.begin() + 3, lines.end()),
              ::testing::UnorderedElementsAre("0 1 on", "1 1 on"));
  EXPECT_THAT(RunShells({wait, "exit 3"}).lines, ElementsAre("0 1 waits", "0 1 on"));
}

TEST(NodeCommands, QuotedWordsPassAShellUnchanged) {
  const std::vector<std::string> words = {"a b", "it's", "$HOME", "",
                                          "`x`", "\\",   "\"q\"", "new\nline"};
  std::vector<std::string> print = {"printf", "<%s>"};
  print.insert(print.end(), words.begin(), words.end());
  EXPECT_THAT(RunShells({QuotedForShell(print)}).lines,
              ElementsAre("0 1 <a b><it's><$HOME><><`x`><\\><\"q\"><new", "0 1 line>"));
}

TEST(NodeCommands, InvalidHostArgumentsAreRejected) {
  for (const char* host : {"node1", "me@node1.example.org", "10.0.0.7", "fe80::1%eth0", "[::1]"}) {
    EXPECT_TRUE(IsHostArgument(host)) << host;
  }
  for (const char* host : {"", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a'b", "a\nb"}) {
    EXPECT_FALSE(IsHostArgument(host)) << host;
  }
}

}  // namespace
}  // namespace rollcall
