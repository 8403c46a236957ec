// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/signal_gate.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "collector/base/print_line.h"

namespace rollcall {
namespace {

constexpr int kLast = SIGWINCH;  // of those that are pending, the lowest number is taken first

// Runs `send` in a process that has a group of its own and a gate. Returns a line for each decided
// signal, "NUMBER group" or "NUMBER alone". The last signal, to the process alone, shows that no
// other follows; it is left out.
std::string Seen(const std::function<void(SignalGate&)>& send) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    SignalGate gate;
    send(gate);
    kill(getpid(), kLast);
    for (bool last = false; !last;) {
      std::string seen;
      while (gate.Take()) continue;
      for (const SignalGate::Decided& signal : gate.TakeDecided()) {
        last |= signal.number == kLast;
        if (signal.number == kLast) continue;
        seen += std::to_string(signal.number) + (signal.to_group ? " group\n" : " alone\n");
      }
      WriteAll(ends[1], seen);
      pollfd entry{gate.fd(), POLLIN, 0};
      if (!last) poll(&entry, 1, 10);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string seen;
  char buffer[256];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    seen.append(buffer, static_cast<size_t>(got));
  }
  close(ends[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return seen;
}

TEST(SignalGateTest, PassesOnWhatThisProcessAloneGot) {
  EXPECT_EQ(Seen([](SignalGate&) { kill(getpid(), SIGTERM); }), "15 alone\n");
}

TEST(SignalGateTest, DoesNotPassOnWhatTheGroupGot) {
  EXPECT_EQ(Seen([](SignalGate&) { kill(0, SIGTERM); }), "15 group\n");
}

TEST(SignalGateTest, CountsASignalToThisProcessAndToTheGroupOnce) {
  EXPECT_EQ(Seen([](SignalGate&) {
              kill(getpid(), SIGTERM);
              kill(0, SIGTERM);
            }),
            "15 group\n");
}

TEST(SignalGateTest, CountsASignalToTheGroupAndToThisProcessOnce) {
  EXPECT_EQ(Seen([](SignalGate& gate) {
              kill(0, SIGTERM);
              gate.Take();
              kill(getpid(), SIGTERM);
            }),
            "15 group\n");
}

TEST(SignalGateTest, DistinguishesNumbers) {
  EXPECT_EQ(Seen([](SignalGate&) {
              kill(getpid(), SIGINT);
              kill(0, SIGTERM);
            }),
            "15 group\n2 alone\n");
}

// Comes from the kernel, as the terminal's signals do: perl -e 'alarm 9; exec @ARGV' COMMAND.
TEST(SignalGateTest, PassesOnTheAlarmOfThisProcess) {
  EXPECT_EQ(Seen([](SignalGate&) {
              constexpr itimerval kSoon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1}};
              setitimer(ITIMER_REAL, &kSoon, nullptr);
              sigset_t pending;
              do sigpending(&pending);
              while (sigismember(&pending, SIGALRM) != 1);
            }),
            "14 alone\n");
}

}  // namespace
}  // namespace rollcall
