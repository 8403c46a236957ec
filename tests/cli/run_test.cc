// `rollcall run` around programs that are no MPI jobs: exit codes, signals, bad days.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"
#include "tests/sanitizers.h"
#include "tests/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class RunTest : public ::testing::Test {
 protected:
  std::vector<std::string> Run(std::vector<std::string> command) {
    std::vector<std::string> words = {ROLLCALL_BIN, "run", "--dir", directory_.Path("run"), "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  TemporaryDirectory directory_;
};

TEST_F(RunTest, PassesTheExitCodeThrough) {
  EXPECT_EQ(RunCommand(Run({"true"})).exit_code(), 0);
  EXPECT_EQ(RunCommand(Run({"false"})).exit_code(), 1);
}

TEST_F(RunTest, SaysThatNoRankAppeared) {
  const Outcome outcome = RunCommand(Run({"echo", "hello"}));
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_THAT(outcome.err, HasSubstr("no rank ever appeared"));
}

TEST_F(RunTest, ASignalBecomes128Plus) {
  EXPECT_EQ(RunCommand(Run({"sh", "-c", "kill -KILL $$"})).exit_code(), 128 + SIGKILL);
}

TEST_F(RunTest, UsageErrorsAre2) {
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run"}).exit_code(), 2);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run", "--no-such-option", "--", "true"}).exit_code(), 2);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run", "--on-hang=panic", "--", "true"}).exit_code(), 2);
  const Outcome missing = RunCommand(Run({"/no/such/launcher"}));
  EXPECT_EQ(missing.exit_code(), 2);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/launcher: No such file"));
}

TEST_F(RunTest, OptionsOfTheLauncherAreItsOwn) {
  EXPECT_EQ(RunCommand(Run({"printf", "%s", "--json"})).out, "--json");
}

// A sanitized rollcall does not start behind another preloaded library.
constexpr const char* kPreloadedBefore = kSanitized ? "" : "/lib/x86_64-linux-gnu/libm.so.6";

TEST_F(RunTest, TheJobGetsItsEnvironment) {
  const Outcome outcome = RunCommand(Run({"env"}), "", nullptr, [] {
    setenv("LD_PRELOAD", kPreloadedBefore, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    unsetenv("OMPI_ALLOW_RUN_AS_ROOT");  // whoever tests as root may have them
    unsetenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
  });
  const std::string before = kPreloadedBefore;
  EXPECT_THAT(outcome.out,
              HasSubstr("librollcall.so" + (before.empty() ? "" : ":" + before) + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("ROLLCALL_DIR=" + directory_.Path("run") + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rollcall-exec --\n"));
  EXPECT_THAT(outcome.out, ContainsRegex("NCCL_PROFILER_PLUGIN=/.*/librollcall.so\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("OMPI_ALLOW_RUN_AS_ROOT")));
}

TEST_F(RunTest, AProfilerOfTheUsersIsKept) {
  const auto environment = [this](const char* name, const char* value) {
    return RunCommand(Run({"env"}), "", nullptr, [&] { setenv(name, value, 1); }).out;
  };
  EXPECT_THAT(environment("NCCL_PROFILER_PLUGIN", "theirs"),
              HasSubstr("NCCL_PROFILER_PLUGIN=theirs\n"));
  EXPECT_THAT(environment("ROLLCALL_NCCL_PLUGIN", "0"), Not(HasSubstr("NCCL_PROFILER_PLUGIN=")));
}

TEST_F(RunTest, SignalsReachTheLauncher) {
  bool sent = false;
  const Outcome outcome = RunCommand(
      Run({"sh", "-c", "trap 'echo got; exit 9' TERM; echo ready; while :; do sleep 0.01; done"}),
      "", [&](pid_t pid, const std::string& out) {
        if (!sent && out.find("ready") != std::string::npos) {
          sent = true;
          kill(pid, SIGTERM);
        }
      });
  EXPECT_EQ(outcome.exit_code(), 9);
  EXPECT_EQ(outcome.out, "ready\ngot\n");
}

TEST_F(RunTest, ItsOwnDeathLeavesTheJobAlone) {
  bool killed = false;
  const Outcome outcome =
      RunCommand(Run({"sh", "-c",
                      "echo ready; while kill -0 $PPID 2>/dev/null; do sleep 0.01; [ $(ps -o ppid= "
                      "-p $$) -eq $PPID ] || break; done; echo survived"}),
                 "", [&](pid_t pid, const std::string& out) {
                   if (!killed && out.find("ready") != std::string::npos) {
                     killed = true;
                     kill(pid, SIGKILL);
                   }
                 });
  EXPECT_EQ(outcome.signal(), SIGKILL);
  EXPECT_THAT(outcome.out, HasSubstr("survived"));
}

TEST_F(RunTest, AnUnusableDirectoryCostsOneLine) {
  std::filesystem::create_directory(directory_.Path("run"));
  std::filesystem::permissions(directory_.Path("run"), std::filesystem::perms(0755));
  const Outcome outcome = RunCommand(Run({"sh", "-c", "echo out; exit 4"}));
  EXPECT_EQ(outcome.exit_code(), 4);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_THAT(outcome.err, HasSubstr("the job runs without rollcall"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(RunTest, ATakenPortCostsOneLine) {
  std::vector<std::string> words = Run({"sh", "-c", "exit 4"});
  words.insert(words.begin() + 2, {"--listen", "no.such.host.invalid:1"});
  const Outcome outcome = RunCommand(words);
  EXPECT_EQ(outcome.exit_code(), 4);
  EXPECT_THAT(outcome.err, HasSubstr("cannot listen on no.such.host.invalid:1"));
}

TEST_F(RunTest, TracesOfAnotherRunAreNotMixed) {
  ASSERT_EQ(RunCommand(Run({"sh", "-c", "touch $ROLLCALL_DIR/rings/a.ring"})).exit_code(), 0);
  EXPECT_THAT(RunCommand(Run({"true"})).err, HasSubstr("another run"));
}

}  // namespace
}  // namespace rollcall
