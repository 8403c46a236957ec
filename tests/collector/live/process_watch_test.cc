// SPDX-License-Identifier: Apache-2.0
#include "collector/live/process_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/process_table.h"

namespace rollcall {
namespace {

// A child that has ended and has not been waited for.
class EndedChild {
 public:
  template <typename End>
  explicit EndedChild(End end) : pid_(fork()) {
    if (pid_ == 0) {
      end();
      _exit(0);
    }
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  ~EndedChild() { waitpid(pid_, nullptr, 0); }
  EndedChild(const EndedChild&) = delete;
  EndedChild& operator=(const EndedChild&) = delete;
  pid_t pid() const { return pid_; }
  std::optional<int> Status() const { return ZombieStatus(pid_, ProcessStartTicks(pid_)); }

 private:
  pid_t pid_;
};

TEST(ZombieStatus, EqualsTheStatusThatTheParentReads) {
  const EndedChild exits([] { _exit(5); });
  ASSERT_TRUE(exits.Status());
  EXPECT_TRUE(WIFEXITED(*exits.Status()) && WEXITSTATUS(*exits.Status()) == 5);
  const EndedChild killed([] { kill(getpid(), SIGKILL); });
  ASSERT_TRUE(killed.Status());
  EXPECT_TRUE(WIFSIGNALED(*killed.Status()) && WTERMSIG(*killed.Status()) == SIGKILL);
}

TEST(ZombieStatus, IsUnknownForAnExitWithZero) {
  const EndedChild exits([] {});
  EXPECT_TRUE(IsZombie(exits.pid()));
  EXPECT_FALSE(exits.Status());
}

TEST(ZombieStatus, IsReadFromTheIntendedProcess) {
  const EndedChild exits([] { _exit(5); });
  EXPECT_FALSE(ZombieStatus(exits.pid(), ProcessStartTicks(exits.pid()) + 1));
  EXPECT_FALSE(ZombieStatus(getpid(), ProcessStartTicks(getpid())));
}

}  // namespace
}  // namespace rollcall
