// SPDX-License-Identifier: Apache-2.0
// `rollcall exec` must change nothing for the program or for the process that waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "proto/run_directory.h"
#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Exec(const std::string& script) {
  return {ROLLCALL_BIN, "exec", "--", "sh", "-c", script};
}

class ExitCodes : public ::testing::TestWithParam<int> {};
TEST_P(ExitCodes, ArePassedOn) {
  EXPECT_EQ(RunCommand(Exec("exit " + std::to_string(GetParam()))).exit_code(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Exec, ExitCodes, ::testing::Values(0, 1, 3, 86, 127, 255));

class EndSignals : public ::testing::TestWithParam<int> {};
TEST_P(EndSignals, ArePassedOn) {
  EXPECT_EQ(RunCommand(Exec("kill -" + std::to_string(GetParam()) + " $$")).signal(), GetParam());
}
INSTANTIATE_TEST_SUITE_P(Exec, EndSignals,
                         ::testing::Values(SIGKILL, SIGTERM, SIGINT, SIGSEGV, SIGABRT, SIGPIPE,
                                           SIGALRM, SIGUSR1, SIGHUP));

TEST(ExecTest, PassesStandardStreamsThrough) {
  const Outcome outcome = RunCommand(Exec("cat; echo problem >&2"), "some text\n");
  EXPECT_EQ(outcome.out, "some text\n");
  EXPECT_EQ(outcome.err, "problem\n");
}

TEST(ExecTest, PassesArgumentsUnchanged) {
  const Outcome outcome = RunCommand(
      {ROLLCALL_BIN, "exec", "--", "sh", "-c", "printf '[%s]' \"$@\"", "x", "a b", "", "--", "-h"});
  EXPECT_EQ(outcome.out, "[a b][][--][-h]");
}

TEST(ExecTest, ProgramStaysInTheProcessGroupOfItsParent) {
  const Outcome outcome = RunCommand(Exec("ps -o pgid= -p $$; ps -o pgid= -p $PPID"));
  const size_t line = outcome.out.find('\n');
  ASSERT_NE(line, std::string::npos);
  EXPECT_EQ(outcome.out.substr(0, line + 1), outcome.out.substr(line + 1));
}

TEST(ExecTest, ForwardsSignalsToTheProgram) {
  bool sent = false;
  const Outcome outcome =
      RunCommand(Exec("trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.01; done"), "",
                 [&](pid_t pid, const std::string& out) {
                   if (!sent && out.find("ready") != std::string::npos) {
                     sent = true;
                     kill(pid, SIGTERM);
                   }
                 });
  EXPECT_EQ(outcome.exit_code(), 5);
  EXPECT_THAT(outcome.out, HasSubstr("got"));
}

// As when a launcher signals the process group, and the program ends first.
TEST(ExecTest, SignalThatReachesTheProgramFirstIsTheLaunchers) {
  const TemporaryDirectory directory;
  const auto journal_of = [&directory](const std::string& script) {
    const Outcome outcome = RunCommand(Exec(script), "", nullptr, [&directory] {
      setenv("ROLLCALL_DIR", directory.path().c_str(), 1);
    });
    EXPECT_EQ(outcome.signal(), SIGTERM);
    std::ostringstream text;
    text << std::ifstream(directory.Path(kJournalFile)).rdbuf();
    return text.str();
  };
  EXPECT_THAT(journal_of("kill -TERM $$"), Not(HasSubstr("by_launcher")));
  EXPECT_THAT(journal_of("parent=$PPID; (while kill -0 $$; do :; done; kill -TERM $parent) "
                         "2> /dev/null & kill -TERM $$"),
              HasSubstr("by_launcher"));
}

TEST(ExecTest, ProgramDiesWithItsParent) {
  bool killed = false;
  const Outcome outcome = RunCommand(Exec("echo ready; while :; do sleep 0.01; done"), "",
                                     [&](pid_t pid, const std::string& out) {
                                       if (!killed && out.find("ready") != std::string::npos) {
                                         killed = true;
                                         kill(pid, SIGKILL);
                                       }
                                     });
  // RunCommand() reads stdout to its end, so no process holds it any more.
  EXPECT_EQ(outcome.signal(), SIGKILL);
}

TEST(ExecTest, MissingProgramGives127AndNonExecutableGives126) {
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "exec", "--", "/no/such/program"}).exit_code(), 127);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "exec", "--", "/etc/passwd"}).exit_code(), 126);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "exec"}).exit_code(), 2);
}

TEST(ExecTest, ParentKeepsNoPipeOpen) {
  // The parent closes its descriptors while the program already starts. The program then closes its
  // stdout and runs until its stdin ends. The reader of stdout must see the end immediately;
  // otherwise this test waits forever.
  const std::string script =
      "for try in $(seq 1000); do"
      "  pipes=$(ls -l /proc/$PPID/fd | grep -c pipe); [ $pipes -eq 0 ] && break; done;"
      "echo $pipes >&2; exec >&-; exec 2>&-; cat >/dev/null";
  const Outcome outcome = RunCommand(Exec(script));
  EXPECT_EQ(outcome.err, "0\n");
}

TEST(ExecTest, ParentKeepsTheLaunchersConnection) {
  const std::string script =
      "for try in $(seq 1000); do [ -e /proc/$PPID/fd/8 ] || break; done; ls /proc/$PPID/fd";
  const Outcome outcome = RunCommand(Exec(script), "", nullptr, [] {
    for (const int fd : {5, 7, 8}) dup2(0, fd);
    setenv("PMI_FD", "7", 1);
  });
  EXPECT_EQ(outcome.out, "0\n1\n2\n7\n");
}

TEST(ExecTest, WritesTheEndOfTheProgramToTheJournal) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.Path("rings"));
  const Outcome outcome = RunCommand(Exec("kill -SEGV $$"), "", nullptr,
                                     [&] { setenv("ROLLCALL_DIR", directory.path().c_str(), 1); });
  EXPECT_EQ(outcome.signal(), SIGSEGV);
  std::ifstream file(directory.Path("journal.jsonl"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("\"how\":\"signaled\",\"status\":11"));
}

}  // namespace
}  // namespace rollcall
