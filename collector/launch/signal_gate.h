// SPDX-License-Identifier: Apache-2.0
// Receives the signals to `rollcall run`, and determines which of them its launcher has not
// received.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_SIGNAL_GATE_H_
#define ROLLCALL_COLLECTOR_LAUNCH_SIGNAL_GATE_H_

#include <signal.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/launch/group_signals.h"

namespace rollcall {

// Blocks every signal that is to be forwarded, in the calling thread and in the threads that it
// starts later. Ignores SIGPIPE and SIGXFSZ: the job continues even if its output is no longer
// read, or if rollcall's files would exceed the limit of file sizes. The launcher gets the original
// signal settings. Construct before any thread is started.
//
// A signal to this process alone must be passed on to the launcher. A signal to the whole group
// must not be passed on, because the launcher has received it. timeout(1) sends each signal to its
// child first and then to the group; other programs do it the other way round. A signal is
// therefore passed on if the group gets no signal of the same number within kSameMomentNs.
class SignalGate {
 public:
  static constexpr int64_t kSameMomentNs = 200'000'000;

  SignalGate();
  ~SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  int fd() const { return fd_; }  // readable when Take() has something
  // The number of a signal. If it is not SIGCHLD, TakeDecided() returns the signal later, when it
  // is known for whom it was.
  std::optional<int> Take();
  struct Decided {
    int number = 0;
    // True: the whole process group has received the signal, including the launcher if it is in the
    // group. False: only this process has.
    bool to_group = false;
  };
  // Signals in the order in which they were decided, each once.
  std::vector<Decided> TakeDecided();
  // When TakeDecided() has to be called next, on CLOCK_MONOTONIC; empty: after the next Take().
  std::optional<int64_t> next_ns() const;

  // The original settings, which the launcher gets.
  struct Before {
    sigset_t mask;
    sigset_t defaults;  // signals that are ignored here only
  };
  const Before& before() const { return before_; }
  // Restores the original settings in this process, for a program that replaces it. No signal is
  // taken after that.
  void Restore();

 private:
  struct Pending {
    int number;
    int64_t decide_ns;
  };

  int fd_ = -1;
  Before before_;
  bool child_ignored_ = false;
  GroupSignals group_;
  std::vector<Pending> pending_;  // in the order of `decide_ns`
  std::vector<Decided> decided_;
  std::map<int, int64_t> group_got_ns_;  // by number: when the group was last seen to have got it
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_SIGNAL_GATE_H_
