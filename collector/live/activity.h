// SPDX-License-Identifier: Apache-2.0
// Compares two samples of a process and summarizes its activity between them. Pure functions.
#ifndef ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_
#define ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_

#include <cstdint>
#include <string>

#include "collector/live/process_state.h"
#include "collector/model/trace.h"

namespace rollcall {

enum class ActivityLevel : uint8_t {
  kUnknown,   // the samples are of different processes, or too close to each other
  kSpinning,  // uses the CPU at least 80 % of the time: work, or an endless loop
  kBusy,      // uses the CPU part of the time
  kWaiting,   // uses the CPU less than 2 % of the time
  kStopped,   // by a signal or a debugger: will not continue by itself
  kEnded,     // a zombie
};

struct ThreadActivity {
  pid_t tid = 0;
  std::string thread_name;
  ActivityLevel activity_level = ActivityLevel::kUnknown;
  RunState state = RunState::kUnknown;  // in the later sample
  uint64_t cpu_ns = 0;                  // used between the two samples
  uint64_t interval_ns = 0;
  std::string wchan;
  std::string syscall;  // name of the call it is blocked in; empty: none, or unknown
};

// Returns what thread `tid` did between `earlier` and `later`; tid 0 means the thread that used the
// most CPU time, or the main thread if none used any.
ThreadActivity Summarize(const ProcessState& earlier, const ProcessState& later, pid_t tid);

// Readable text: "running", "sleeping in read", "disk wait".
std::string StateText(const ThreadActivity& activity);

// Sets the state and CPU time of a thread whose stack was taken.
void SetActivity(const ThreadActivity& activity, LiveStack* stack);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_ACTIVITY_H_
