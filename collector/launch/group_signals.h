// SPDX-License-Identifier: Apache-2.0
// Distinguishes signals to this process's group from signals to this process alone.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_GROUP_SIGNALS_H_
#define ROLLCALL_COLLECTOR_LAUNCH_GROUP_SIGNALS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace rollcall {

// A child in this process's group. No process sends a signal to the child alone: a signal that it
// gets was sent to the whole group (terminal, kill -- -PGID, timeout(1)), or to each process of a
// control group. The child blocks all signals. They remain pending until Got() asks for them, and
// the child survives them. The child ends with this process and holds none of its descriptors. Its
// name contains no word of a command line: a user who kills processes by name does not mean the
// group. Not thread-safe; construct before any thread starts.
class GroupSignals {
 public:
  GroupSignals();
  ~GroupSignals() { End(); }
  GroupSignals(const GroupSignals&) = delete;
  GroupSignals& operator=(const GroupSignals&) = delete;

  // Whether the group has received this signal since the last call. Empty if the child does not
  // answer within a second. The kernel signals the newest process of a group first, so the child
  // has received a signal of the group when this process has.
  std::optional<bool> Got(int number);
  // Ends the child, before another program replaces this one.
  void End();

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  uint32_t asked_ = 0;  // number of the last question
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LAUNCH_GROUP_SIGNALS_H_
