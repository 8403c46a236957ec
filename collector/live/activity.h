// What a process does, or does not do, between two looks at it. Pure functions.
#ifndef ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_
#define ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_

#include <cstdint>
#include <string>

#include "collector/live/process_state.h"
#include "collector/model/trace.h"

namespace rollcall {

enum class Pace : uint8_t {
  kUnknown,   // the samples are of different processes, or too close to each other
  kSpinning,  // computes for at least 80 % of the time: work, or an endless loop
  kBusy,      // computes for a part of it
  kWaiting,   // computes for less than 2 %
  kStopped,   // by a signal or a debugger: will not go on by itself
  kEnded,     // a zombie
};

struct ThreadActivity {
  pid_t tid = 0;
  std::string thread_name;
  Pace pace = Pace::kUnknown;
  RunState state = RunState::kUnknown;  // at the later look
  uint64_t cpu_ns = 0;                  // used between the two looks
  uint64_t interval_ns = 0;
  std::string wchan;
  std::string syscall;  // name of the call it is blocked in; empty: none, or unseen
};

// What thread `tid` did between `earlier` and `later`; tid 0 means the thread that used the most
// CPU time, the main thread if none used any.
ThreadActivity Summarize(const ProcessState& earlier, const ProcessState& later, pid_t tid);

// For a person: "running", "sleeping in read", "disk wait".
std::string StateText(const ThreadActivity& activity);

// State and CPU time of a thread whose stack was taken.
void SetActivity(const ThreadActivity& activity, LiveStack* stack);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_
