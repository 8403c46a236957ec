// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/signal_gate.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "collector/base/clock.h"

namespace rollcall {
namespace {

constexpr int kPassedOn[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                             SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};
// Ignored rather than blocked: a blocked signal would stay pending for the thread that wrote, and
// would end this process when it unblocks the signal at its exit.
constexpr int kIgnored[] = {SIGPIPE, SIGXFSZ};

}  // namespace

SignalGate::SignalGate() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kPassedOn) sigaddset(&set, number);
  sigaddset(&set, SIGCHLD);
  // The parent may have left SIGCHLD ignored; the launcher's status would then be lost.
  child_ignored_ = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
  sigemptyset(&before_.defaults);
  for (const int number : kIgnored) {
    if (signal(number, SIG_IGN) != SIG_IGN) sigaddset(&before_.defaults, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, &before_.mask);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalGate::~SignalGate() {
  close(fd_);
  Restore();
}

void SignalGate::Restore() {
  group_.End();
  for (const int number : kIgnored) {
    if (sigismember(&before_.defaults, number) == 1) signal(number, SIG_DFL);
  }
  if (child_ignored_) signal(SIGCHLD, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &before_.mask, nullptr);
}

std::optional<int> SignalGate::Take() {
  signalfd_siginfo info;
  if (read(fd_, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  const int number = static_cast<int>(info.ssi_signo);
  if (number == SIGCHLD) return number;
  const int64_t now = Now(CLOCK_MONOTONIC);
  const auto same = [number](const Pending& pending) { return pending.number == number; };
  const auto group_got = group_got_ns_.find(number);
  const bool decided = group_got != group_got_ns_.end() && now - group_got->second < kSameMomentNs;
  // Without the child, only signals from the terminal are known to go to the group: they come from
  // the kernel.
  if (group_.Got(number).value_or(info.ssi_code == SI_KERNEL)) {
    std::erase_if(pending_, same);
    group_got_ns_[number] = now;
    if (!decided) decided_.push_back({.number = number, .to_group = true});
  } else if (!decided && std::ranges::none_of(pending_, same)) {
    pending_.push_back({.number = number, .decide_ns = now + kSameMomentNs});
  }
  return number;
}

std::vector<SignalGate::Decided> SignalGate::TakeDecided() {
  const int64_t now = Now(CLOCK_MONOTONIC);
  while (!pending_.empty() && pending_.front().decide_ns <= now) {
    const int number = pending_.front().number;
    pending_.erase(pending_.begin());
    const bool to_group = group_.Got(number).value_or(false);
    if (to_group) group_got_ns_[number] = now;
    decided_.push_back({.number = number, .to_group = to_group});
  }
  return std::exchange(decided_, {});
}

std::optional<int64_t> SignalGate::next_ns() const {
  if (pending_.empty()) return std::nullopt;
  return pending_.front().decide_ns;
}

}  // namespace rollcall
