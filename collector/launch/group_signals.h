// Tells signals of this process's group from signals of this process alone.
#ifndef ROLLCALL_COLLECTOR_LAUNCH_GROUP_SIGNALS_H_
#define ROLLCALL_COLLECTOR_LAUNCH_GROUP_SIGNALS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace rollcall {

// A child in this process's group to which nobody sends a signal: what it gets, the whole group got
// (terminal, kill -- -PGID, timeout(1)), or each process of a control group. It blocks all signals,
// so that they remain pending until they are asked for, and survives them. It ends with this
// process, holds none of its descriptors, and has a name that nobody looks for, as whoever kills
// processes by name does not mean the group. Not thread-safe; construct before any thread starts.
class GroupSignals {
 public:
  GroupSignals();
  ~GroupSignals() { End(); }
  GroupSignals(const GroupSignals&) = delete;
  GroupSignals& operator=(const GroupSignals&) = delete;

  // Whether the group has got this signal since the last call. Empty if the child does not answer
  // within a second. The kernel signals the newest process of a group first: when this process has
  // got a signal of the group, the child has it as well.
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
