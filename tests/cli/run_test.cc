// SPDX-License-Identifier: Apache-2.0
// `rollcall run` with programs that are not MPI jobs: exit codes, signals, failures of rollcall.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collector/live/process_watch.h"
#include "tests/cli/command_line.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Matches;
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

// `rollcall run` raises its own limit after the job has started, because each connection of an
// agent needs a descriptor.
TEST_F(RunTest, JobKeepsItsDescriptorLimit) {
  const std::string job =
      "ulimit -Sn; tries=0; until grep 'open files  *300  *300 ' /proc/$PPID/limits; do "
      "tries=$((tries + 1)); [ $tries -lt 5000 ] || exit 1; done";
  const Outcome outcome = RunCommand(Run({"sh", "-c", job}), "", nullptr, [] {
    const rlimit files{.rlim_cur = 200, .rlim_max = 300};
    setrlimit(RLIMIT_NOFILE, &files);
  });
  EXPECT_THAT(outcome.out, ContainsRegex("^200\nMax open files +300 +300 "));
}

TEST_F(RunTest, SaysThatNoRankWasRecorded) {
  const Outcome outcome = RunCommand(Run({"echo", "hello"}));
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_THAT(outcome.err, HasSubstr("no rank was recorded"));
}

TEST_F(RunTest, SignalGivesExitCode128PlusItsNumber) {
  EXPECT_EQ(RunCommand(Run({"sh", "-c", "kill -KILL $$"})).exit_code(), 128 + SIGKILL);
}

TEST_F(RunTest, UsageErrorsGiveExitCode2) {
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run"}).exit_code(), 2);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run", "--no-such-option", "--", "true"}).exit_code(), 2);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run", "--on-hang=panic", "--", "true"}).exit_code(), 2);
  EXPECT_EQ(RunCommand({ROLLCALL_BIN, "run", "--on-hang=exec:", "--", "true"}).exit_code(), 2);
  const Outcome pipe = RunCommand({ROLLCALL_BIN, "run", "--log", "-", "--", "true"});
  EXPECT_EQ(pipe.exit_code(), 2);
  EXPECT_THAT(pipe.err, HasSubstr("--log: the job's output does not pass through rollcall"));
  const Outcome missing = RunCommand(Run({"/no/such/launcher"}));
  EXPECT_EQ(missing.exit_code(), 2);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/launcher: No such file"));
}

// The job makes it.
TEST_F(RunTest, LogNeedNotExistAtTheStart) {
  const std::string made = directory_.Path("made");
  const std::string missing = directory_.Path("missing");
  const Outcome outcome =
      RunCommand({ROLLCALL_BIN, "run", "--dir", directory_.Path("run"), "--log", made, "--log",
                  missing, "--", "sh", "-c", "echo text > " + made + "; exit 3"});
  EXPECT_EQ(outcome.exit_code(), 3);
  EXPECT_THAT(outcome.err, HasSubstr("rollcall: --log " + missing + ": is not on this machine\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr(made)));
}

TEST_F(RunTest, PassesLauncherOptionsThrough) {
  EXPECT_EQ(RunCommand(Run({"printf", "%s", "--json"})).out, "--json");
}

// A sanitized rollcall does not start if another library is preloaded before the sanitizer.
constexpr const char* kPreloadedBefore = kSanitized ? "" : "/lib/x86_64-linux-gnu/libm.so.6";

TEST_F(RunTest, SetsTheEnvironmentOfTheJob) {
  const Outcome outcome = RunCommand(Run({"env"}), "", nullptr, [] {
    setenv("LD_PRELOAD", kPreloadedBefore, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    unsetenv("OMPI_ALLOW_RUN_AS_ROOT");  // may be set where tests run as root
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

// Of() returns the fork agents that Open MPI 4.1 and 5.0 would use for a command line, each of
// which is "" if there is none.
class ForkAgent : public RunTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(directory_.Path("bin"));
    std::filesystem::copy(ROLLCALL_FAKE_LAUNCHER, directory_.Path("bin/mpirun"));
    std::filesystem::copy(ROLLCALL_FAKE_LAUNCHER, directory_.Path("bin/program"));
    // A script may add hosts to the command line.
    const std::string file = directory_.Path("bin/mpiexec");
    std::ofstream(file) << "#!/bin/sh\nexec mpirun\n";
    std::filesystem::permissions(file, std::filesystem::perms(0755));
  }

  std::vector<std::string> Of(std::vector<std::string> line, const std::string& setting = "") {
    const Outcome outcome = RunCommand(Run(std::move(line)), "", nullptr, [&] {
      const std::string path = directory_.Path("bin") + ":" + getenv("PATH");
      setenv("PATH", path.c_str(), 1);
      setenv("HOME", directory_.path().c_str(), 1);
      // Debian's gRPC is not built with ThreadSanitizer, so its reports do not concern rollcall.
      if (kThreadSanitizer) setenv("TSAN_OPTIONS", "report_bugs=0", 1);
      const size_t equals = setting.find('=');
      if (!setting.empty()) setenv(setting.substr(0, equals).c_str(), &setting[equals + 1], 1);
    });
    EXPECT_EQ(outcome.exit_code(), 0) << outcome.err;
    std::vector<std::string> agents;
    std::istringstream lines(outcome.out);
    for (std::string agent; std::getline(lines, agent);) agents.push_back(agent);
    EXPECT_EQ(agents.size(), 2u);
    return agents;
  }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_.Path(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
};

TEST_F(ForkAgent, IsNotSetWhenNoRankNeedsIt) {
  if (FindEndReports() != EndReports::kToPidfds) {
    GTEST_SKIP() << "this kernel reports to the parent only how a process ended";
  }
  EXPECT_THAT(Of({"mpirun", "-n", "2", "app"}), Each(""));
  EXPECT_THAT(Of({directory_.Path("bin/mpirun"), "-n", "1", "a", ":", "-n", "1", "b"}), Each(""));
  EXPECT_THAT(Of({"env", "X=1", "timeout", "9", "mpirun", "-n", "2", "app"}), Each(""));
  EXPECT_THAT(Of({"mpirun", "-H", "localhost:4,127.0.0.1", "-n", "2", "app"}), Each(""));
  EXPECT_THAT(Of({"mpirun", "-mca", "btl", "tcp,self", "app"}, "OMPI_MCA_pml=ob1"), Each(""));
  Write("etc/openmpi-default-hostfile", "# node1\n\n");
  Write(".openmpi/mca-params.conf", "btl = self\n# orte_default_hostfile = there\n");
  EXPECT_THAT(Of({"mpirun", "-n", "2", "app"}), Each(""));
}

TEST_F(ForkAgent, IsSetWhenRanksMayNeedIt) {
  const auto is_set = [this](const std::vector<std::string>& line, const std::string& setting) {
    return Matches(Each(EndsWith("/rollcall-exec --")))(Of(line, setting));
  };
  const std::vector<std::string> plain = {"mpirun", "-n", "2", "app"};
  for (const std::string option :
       {"-H", "--host", "-hostfile", "--hostfile", "-machinefile", "--default-hostfile",
        "--rankfile", "--app", "--tune", "-x LD_PRELOAD=other.so", "--mca orte_default_hostfile",
        "-mca plm_rsh_agent", "--prtemca plm_ssh_agent", "--launch-agent"}) {
    std::vector<std::string> line = {"mpirun"};
    std::istringstream words(option);
    for (std::string word; words >> word;) line.push_back(word);
    line.insert(line.end(), {"node1,localhost", "-n", "2", "app"});
    EXPECT_TRUE(is_set(line, "")) << option;
  }
  for (const std::string setting :
       {"SLURM_JOB_ID=7", "PBS_JOBID=7", "LSB_JOBID=7", "PE_HOSTFILE=there",
        "OMPI_MCA_orte_default_hostfile=there", "PRTE_MCA_prte_default_hostfile=there",
        "ROLLCALL_FORK_AGENT=1"}) {
    EXPECT_TRUE(is_set(plain, setting)) << setting;
  }
  EXPECT_TRUE(is_set({"program", "-n", "2", "app"}, ""));
  EXPECT_TRUE(is_set({"program", "mpirun", "-n", "2", "app"}, ""));
  EXPECT_TRUE(is_set({"mpiexec", "-n", "2", "app"}, ""));
  EXPECT_TRUE(is_set(plain, "OPAL_PREFIX=/opt"));
  EXPECT_TRUE(is_set(plain, "PRTE_PREFIX=/opt"));
  Write(".openmpi/mca-params.conf", " orte_default_hostfile = there\n");
  EXPECT_TRUE(is_set(plain, ""));
  Write(".openmpi/mca-params.conf", "");
  for (const std::string of : {"openmpi", "prte"}) {
    Write("etc/" + of + "-default-hostfile", "node1\n");
    EXPECT_TRUE(is_set(plain, "")) << of;
    Write("etc/" + of + "-default-hostfile", "");
  }
}

TEST_F(ForkAgent, DoesNotReplaceTheUsersAndCanBeSwitchedOff) {
  EXPECT_THAT(Of({"mpirun", "-H", "node1", "app"}, "OMPI_MCA_orte_fork_agent=theirs"),
              ElementsAre("theirs", EndsWith("/rollcall-exec --")));
  EXPECT_THAT(Of({"mpirun", "-H", "node1", "app"}, "PRTE_MCA_odls_base_exec_agent=theirs"),
              ElementsAre(EndsWith("/rollcall-exec --"), "theirs"));
  EXPECT_THAT(Of({"mpirun", "-H", "node1", "app"}, "ROLLCALL_FORK_AGENT=0"), Each(""));
}

TEST_F(RunTest, StartsScriptsWithoutInterpreterLine) {
  const std::string file = directory_.Path("script");
  std::ofstream(file) << "echo \"$1\"; exit 4\n";
  std::filesystem::permissions(file, std::filesystem::perms(0755));
  const Outcome outcome = RunCommand(Run({file, "a b"}));
  EXPECT_EQ(outcome.exit_code(), 4);
  EXPECT_EQ(outcome.out, "a b\n");
}

TEST_F(RunTest, ReportsHowTheLauncherEndedIfNoRankWasRecorded) {
  EXPECT_THAT(RunCommand(Run({"false"})).err, HasSubstr("the launcher ended with exit code 1"));
  const Outcome killed = RunCommand(Run({"sh", "-c", "kill -SEGV $$"}));
  EXPECT_THAT(killed.err, HasSubstr("the launcher was ended by SIGSEGV"));
  EXPECT_THAT(killed.err, Not(HasSubstr("statically")));
}

TEST_F(RunTest, TakesTheTokenOfTheEnvironment) {
  const auto outcome = [this](const char* token) {
    return RunCommand(Run({"env"}), "", nullptr, [&] { setenv("ROLLCALL_TOKEN", token, 1); });
  };
  EXPECT_THAT(outcome("0123456789abcdef").out, HasSubstr("\nROLLCALL_TOKEN=0123456789abcdef\n"));
  EXPECT_THAT(outcome("").out, ContainsRegex("\nROLLCALL_TOKEN=[0-9a-f]+\n"));
  EXPECT_THAT(outcome("short").err, HasSubstr("the job runs without rollcall"));
}

TEST_F(RunTest, KeepsTheUsersProfilerPlugin) {
  const auto environment = [this](const char* name, const char* value) {
    return RunCommand(Run({"env"}), "", nullptr, [&] { setenv(name, value, 1); }).out;
  };
  EXPECT_THAT(environment("NCCL_PROFILER_PLUGIN", "theirs"),
              HasSubstr("NCCL_PROFILER_PLUGIN=theirs\n"));
  EXPECT_THAT(environment("ROLLCALL_NCCL_PLUGIN", "0"), Not(HasSubstr("NCCL_PROFILER_PLUGIN=")));
}

TEST_F(RunTest, ForwardsSignalsToTheLauncher) {
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

TEST_F(RunTest, JobSurvivesTheDeathOfRollcall) {
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

TEST_F(RunTest, RunsTheJobIfTheDirectoryIsUnusable) {
  std::filesystem::create_directory(directory_.Path("run"));
  std::filesystem::permissions(directory_.Path("run"), std::filesystem::perms(0755));
  const Outcome outcome = RunCommand(Run({"sh", "-c", "echo out; exit 4"}));
  EXPECT_EQ(outcome.exit_code(), 4);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_THAT(outcome.err, HasSubstr("the job runs without rollcall"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(RunTest, RunsTheJobIfTheListenAddressIsUnusable) {
  std::vector<std::string> words = Run({"sh", "-c", "exit 4"});
  words.insert(words.begin() + 2, {"--listen", "no.such.host.invalid:1"});
  const Outcome outcome = RunCommand(words);
  EXPECT_EQ(outcome.exit_code(), 4);
  EXPECT_THAT(outcome.err, HasSubstr("cannot listen on no.such.host.invalid:1"));
}

TEST_F(RunTest, ReportsTracesOfAnotherRunInTheDirectory) {
  ASSERT_EQ(RunCommand(Run({"sh", "-c", "touch $ROLLCALL_DIR/rings/a.ring"})).exit_code(), 0);
  EXPECT_THAT(RunCommand(Run({"true"})).err, HasSubstr("another run"));
}

}  // namespace
}  // namespace rollcall
