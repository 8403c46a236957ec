// SPDX-License-Identifier: Apache-2.0
// Children with one behaviour each, for tests that examine processes from outside.
#ifndef ROLLCALL_TESTS_COLLECTOR_LIVE_LIVE_CHILD_H_
#define ROLLCALL_TESTS_COLLECTOR_LIVE_LIVE_CHILD_H_

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "collector/live/live_stack.h"
#include "collector/live/process_state.h"

namespace rollcall::testing {

// A test machine may be busy: its threads get long deadlines.
inline LiveStackOptions Patient(LiveStackOptions options = {}) {
  options.deadline = options.stop_deadline = std::chrono::seconds(20);
  return options;
}

// A forked child that runs `body` and exits with its result. The destructor kills it if necessary
// and reaps it.
class LiveChild {
 public:
  explicit LiveChild(const std::function<int(LiveChild&)>& body);
  ~LiveChild();
  LiveChild(const LiveChild&) = delete;
  LiveChild& operator=(const LiveChild&) = delete;

  pid_t pid() const { return pid_; }

  // In the child: sends a byte to the parent; blocks until the parent continues the child.
  void Tell(char what) const;
  char BlockInRead() const;
  int command_fd() const { return command_[0]; }
  // In the parent: waits for the byte of the child; continues the child.
  char Hear() const;
  void LetGo(char what = 'g') const;

  // In the parent: reads the child's state until `wanted` holds; fails the test after ten seconds.
  ProcessState WaitFor(const std::function<bool(const ProcessState&)>& wanted) const;
  ProcessState WaitUntilBlockedIn(int64_t syscall) const;
  ProcessState WaitForState(RunState state) const;
  // The child's exit status, -signal if it was killed; fails the test after ten seconds.
  int WaitForExit();

 private:
  pid_t pid_ = -1;
  int told_[2] = {-1, -1};
  int command_[2] = {-1, -1};
};

// Implementation.

inline constexpr auto kPatience = std::chrono::seconds(10);

inline LiveChild::LiveChild(const std::function<int(LiveChild&)>& body) {
  EXPECT_EQ(pipe(told_), 0);
  EXPECT_EQ(pipe(command_), 0);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(told_[0]);
    close(command_[1]);
    _exit(body(*this));
  }
  close(told_[1]);
  close(command_[0]);
}

inline LiveChild::~LiveChild() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(told_[0]);
  close(command_[1]);
}

inline void LiveChild::Tell(char what) const {
  if (write(told_[1], &what, 1) != 1) _exit(99);
}

inline char LiveChild::BlockInRead() const {
  char what = 0;
  return read(command_[0], &what, 1) == 1 ? what : '\0';
}

inline char LiveChild::Hear() const {
  char what = 0;
  EXPECT_EQ(read(told_[0], &what, 1), 1) << "the child ended";
  return what;
}

inline void LiveChild::LetGo(char what) const { EXPECT_EQ(write(command_[1], &what, 1), 1); }

inline ProcessState LiveChild::WaitFor(
    const std::function<bool(const ProcessState&)>& wanted) const {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    auto state = ReadProcessState(ProcSource(), pid_, 0);
    if (state && wanted(*state)) return *state;
    if (std::chrono::steady_clock::now() > give_up) {
      ADD_FAILURE() << "the child never came there " << state.error();
      return std::move(state).value_or({});
    }
    sched_yield();
  }
}

inline ProcessState LiveChild::WaitUntilBlockedIn(int64_t syscall) const {
  return WaitFor([syscall](const ProcessState& process) {
    return !process.threads.empty() && process.state == RunState::kSleeping &&
           process.threads[0].blocked_call && process.threads[0].blocked_call->number == syscall;
  });
}

inline ProcessState LiveChild::WaitForState(RunState state) const {
  return WaitFor([state](const ProcessState& process) { return process.state == state; });
}

inline int LiveChild::WaitForExit() {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  pid_t got = 0;
  while ((got = waitpid(pid_, &status, WNOHANG)) == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      ADD_FAILURE() << "the child does not end";
      return -1000;
    }
    sched_yield();
  }
  EXPECT_EQ(got, pid_);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace rollcall::testing

#endif  // ROLLCALL_TESTS_COLLECTOR_LIVE_LIVE_CHILD_H_
