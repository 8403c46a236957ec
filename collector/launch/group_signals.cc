// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/group_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace rollcall {
namespace {

constexpr int kAnswerMs = 1000;
// Contains no word of a command line. At most 15 characters: prctl(2).
constexpr char kName[] = "group-signals";

struct Question {
  uint32_t id;
  int32_t signal;
};

struct Answer {
  uint32_t id;
  int32_t got;
};

// Changes /proc/PID/comm and /proc/PID/cmdline, which ps, pkill and killall read.
void Rename() {
  prctl(PR_SET_NAME, kName);
  char line[4096];
  size_t size = 0;
  const int file = open("/proc/self/cmdline", O_RDONLY);
  for (ssize_t got; file >= 0 && (got = read(file, line, sizeof(line))) > 0;) {
    size += static_cast<size_t>(got);
  }
  close(file);
  // The kernel shows this memory, which begins with argv[0].
  memset(program_invocation_name, 0, size);
  if (size >= sizeof(kName)) memcpy(program_invocation_name, kName, sizeof(kName));
}

// The main function of the child.
[[noreturn]] void Serve(int fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  Rename();
  dup2(fd, STDIN_FILENO);
  close_range(STDIN_FILENO + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(0);
  Question question{};
  while (recv(STDIN_FILENO, &question, sizeof(question), 0) == sizeof(question)) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, question.signal);
    constexpr timespec kNow{};
    const Answer answer{.id = question.id,
                        .got = sigtimedwait(&one, nullptr, &kNow) == question.signal};
    send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL);
  }
  _exit(0);
}

}  // namespace

GroupSignals::GroupSignals() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_ = fork();
  if (pid_ == 0) Serve(ends[1], parent);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[1]);
  fd_ = ends[0];
  if (pid_ < 0) End();
}

std::optional<bool> GroupSignals::Got(int number) {
  const Question question{.id = ++asked_, .signal = number};
  if (fd_ < 0 || send(fd_, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    return std::nullopt;
  }
  pollfd entry{fd_, POLLIN, 0};
  Answer answer{};
  while (poll(&entry, 1, kAnswerMs) > 0) {
    if (recv(fd_, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer)) break;
    if (answer.id == asked_) return answer.got != 0;  // others answer earlier questions
  }
  return std::nullopt;
}

void GroupSignals::End() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
  pid_ = fd_ = -1;
}

}  // namespace rollcall
