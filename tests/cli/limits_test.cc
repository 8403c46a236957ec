// SPDX-License-Identifier: Apache-2.0
// `rollcall run` where it gets less than it needs: the job ends as it does without rollcall.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/command_line.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

using Clock = std::chrono::steady_clock;

// Nobody else's processes count for its limit, nor those of a test beside this one.
const uid_t kUser = 54'321 + static_cast<uid_t>(getpid() % 10'000);
// The end of `rollcall run` after the end of the job.
constexpr auto kEndsWithin = std::chrono::seconds(5);

void Limit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit{.rlim_cur = value, .rlim_max = value};
  setrlimit(resource, &limit);
}

// The limit of processes does not hold for root.
void BecomeOrdinaryUser() {
  if (geteuid() == 0 && (setgid(kUser) != 0 || setuid(kUser) != 0)) abort();
}

// As a shell has it.
int CodeOf(const Outcome& outcome) {
  return outcome.signal() != 0 ? 128 + outcome.signal() : outcome.exit_code();
}

class LimitsTest : public ::testing::Test {
 protected:
  // Runs the shell script, which prints a last line, under `rollcall run` in a process prepared by
  // `in_child`.
  Outcome Run(const std::string& script, const std::function<void()>& in_child) {
    Clock::time_point printed = Clock::now();
    Outcome outcome = RunCommand(
        {ROLLCALL_BIN, "run", "--dir", directory_.Path("run"), "--", "sh", "-c", script}, "",
        [&](pid_t, const std::string&) { printed = Clock::now(); }, in_child);
    EXPECT_LT(Clock::now() - printed, kEndsWithin);
    return outcome;
  }

  // The same, compared with a run without rollcall. Returns what rollcall and the job wrote to
  // stderr.
  std::string Compare(const std::string& script, const std::function<void()>& in_child) {
    const Outcome bare = RunCommand({"sh", "-c", script}, "", nullptr, in_child);
    const Outcome run = Run(script, in_child);
    EXPECT_EQ(CodeOf(run), CodeOf(bare)) << run.err;
    EXPECT_EQ(run.out, bare.out);
    EXPECT_THAT(run.err, HasSubstr(bare.err));
    return run.err;
  }

  void GiveDirectory() const {
    ASSERT_EQ(chown(directory_.path().c_str(), geteuid() == 0 ? kUser : geteuid(), -1U), 0);
  }

  static size_t Lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  TemporaryDirectory directory_;
};

constexpr char kJob[] = "echo out; echo err >&2; exit 4";

TEST_F(LimitsTest, FewProcesses) {
  GiveDirectory();
  for (const rlim_t processes : {1, 5, 9, 12, 20}) {
    const std::string err = Compare(kJob, [&] {
      Limit(RLIMIT_NPROC, processes);
      BecomeOrdinaryUser();
    });
    EXPECT_THAT(err, HasSubstr("threads (ulimit -u, -v); the job runs without rollcall\n"));
    EXPECT_EQ(Lines(err), 2u) << err;
  }
}

// Later threads of gRPC do not start.
TEST_F(LimitsTest, NoFurtherThreadAfterTheStart) {
  GiveDirectory();
  const Outcome run = Run("prlimit --pid=$PPID --nproc=1:1; echo out; exit 4", [] {
    BecomeOrdinaryUser();
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // LeakSanitizer needs a thread at the end
  });
  EXPECT_EQ(run.exit_code(), 4);
  EXPECT_EQ(Lines(run.err), 1u) << run.err;  // no error of prlimit
}

TEST_F(LimitsTest, LittleMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs terabytes of address space";
  for (const rlim_t mebibytes : {250, 300, 400, 600, 700, 800, 1000, 1500}) {
    const std::string err = Compare(kJob, [&] { Limit(RLIMIT_AS, mebibytes << 20); });
    if (mebibytes != 300) continue;
    // The packaged program, which is linked statically, starts some threads before the memory ends.
    EXPECT_THAT(err, AnyOf(HasSubstr("MiB of memory (ulimit -v, -d); the job runs without"),
                           HasSubstr("threads (ulimit -u, -v); the job runs without")));
  }
}

TEST_F(LimitsTest, FewDescriptors) {
  for (const rlim_t descriptors : {8, 16, 24, 32, 40, 48, 56, 64}) {
    const std::string err = Compare(kJob, [&] { Limit(RLIMIT_NOFILE, descriptors); });
    EXPECT_THAT(err, AnyOf(HasSubstr("descriptors (ulimit -n); the job runs without rollcall\n"),
                           HasSubstr("no rank was recorded")));
    EXPECT_EQ(Lines(err), 2u) << err;
  }
}

TEST_F(LimitsTest, NoFileMayGrow) {
  const auto none = [] { Limit(RLIMIT_FSIZE, 0); };
  Compare(kJob, none);
  // The job keeps the signal.
  Compare("echo out; echo more > " + directory_.Path("file"), none);
}

TEST_F(LimitsTest, ClosedStandardStreams) {
  const std::string streams = directory_.Path("streams");
  for (int closed = 1; closed < 8; ++closed) {
    Compare("for fd in 0 1 2; do readlink /proc/$PPID/fd/$fd; done > " + streams + "; " + kJob,
            [&] {
              for (int fd = 0; fd < 3; ++fd) {
                if ((closed & 1 << fd) != 0) close(fd);
              }
            });
    std::ifstream file(streams);
    int fd = 0;
    for (std::string target; std::getline(file, target); ++fd) {
      const bool is_null = target == "/dev/null";
      EXPECT_EQ(is_null, (closed & 1 << fd) != 0) << closed << ": " << fd << " is " << target;
    }
    EXPECT_EQ(fd, 3);
  }
}

}  // namespace
}  // namespace rollcall
