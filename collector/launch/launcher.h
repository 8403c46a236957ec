// SPDX-License-Identifier: Apache-2.0
// The launcher as a child process of `rollcall run`. Also starts the command of --on-hang=exec.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_
#define ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/launch/signal_gate.h"

namespace rollcall {

// Replaces this process by the command, with its environment. Returns only on failure: the errno of
// execvp(3).
int Become(const std::vector<std::string>& command);

// The launcher stays in this process's group. It remains the terminal's foreground job, and signals
// from the terminal reach it once, directly.
class Launcher {
 public:
  // False if the launcher cannot be started; `error` is then the errno of execvp(3).
  // `standard_input`, `standard_output`: descriptors, which the caller keeps; -1: those of this
  // process.
  bool Start(const std::vector<std::string>& command,
             const std::map<std::string, std::string>& environment,
             const SignalGate::Before& signals, int* error, int standard_input = -1,
             int standard_output = -1);
  pid_t pid() const { return pid_; }
  void Signal(int number) const;
  // False if the launcher has left this process's group. It then does not get the group's signals.
  // For example, timeout(1) makes a group of its own.
  bool InThisGroup() const;
  // The wait status after the launcher has ended. Never blocks.
  std::optional<int> Poll();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_LAUNCHER_H_
