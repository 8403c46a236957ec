// SPDX-License-Identifier: Apache-2.0
#include "collector/live/activity.h"

#include <algorithm>

#include "collector/live/syscall_names.h"

namespace rollcall {
namespace {

uint64_t CpuBetween(const ProcessState& earlier, const ThreadState& later) {
  const ThreadState* before = FindSame(earlier, later);
  if (before == nullptr) return later.cpu_ns;  // it was started in between
  return later.cpu_ns > before->cpu_ns ? later.cpu_ns - before->cpu_ns : 0;
}

ActivityLevel LevelOf(RunState state, uint64_t cpu_ns, uint64_t interval_ns) {
  if (state == RunState::kStopped || state == RunState::kTraced) return ActivityLevel::kStopped;
  if (state == RunState::kZombie || state == RunState::kDead) return ActivityLevel::kEnded;
  if (interval_ns == 0) return ActivityLevel::kUnknown;
  if (cpu_ns >= interval_ns / 5 * 4) return ActivityLevel::kSpinning;
  return cpu_ns >= interval_ns / 50 ? ActivityLevel::kBusy : ActivityLevel::kWaiting;
}

}  // namespace

ThreadActivity Summarize(const ProcessState& earlier, const ProcessState& later, pid_t tid) {
  ThreadActivity activity;
  if (earlier.pid != later.pid || earlier.start_ticks != later.start_ticks ||
      later.threads.empty()) {
    return activity;
  }
  activity.interval_ns =
      later.sampled_ns > earlier.sampled_ns ? later.sampled_ns - earlier.sampled_ns : 0;
  const ThreadState* chosen = nullptr;
  uint64_t chosen_cpu = 0;
  for (const ThreadState& thread : later.threads) {
    if (tid != 0 && thread.tid != tid) continue;
    const uint64_t cpu = CpuBetween(earlier, thread);
    // The main thread's tid is the pid.
    const bool better =
        chosen == nullptr || cpu > chosen_cpu || (cpu == chosen_cpu && thread.tid == later.pid);
    if (!better) continue;
    chosen = &thread;
    chosen_cpu = cpu;
  }
  if (chosen == nullptr) return activity;
  activity.tid = chosen->tid;
  activity.thread_name = chosen->name;
  activity.state = chosen->state;
  activity.cpu_ns = chosen_cpu;
  activity.activity_level = LevelOf(chosen->state, chosen_cpu, activity.interval_ns);
  activity.wchan = chosen->wchan;
  if (chosen->blocked_call && chosen->blocked_call->number >= 0) {
    activity.syscall = SyscallName(chosen->blocked_call->number);
  }
  return activity;
}

std::string StateText(const ThreadActivity& activity) {
  std::string text = activity.activity_level == ActivityLevel::kSpinning ||
                             activity.activity_level == ActivityLevel::kBusy
                         ? "running"
                         : RunStateName(activity.state);
  if (!activity.syscall.empty()) text += " in " + activity.syscall;
  return text;
}

void SetActivity(const ThreadActivity& activity, LiveStack* stack) {
  stack->state = StateText(activity);
  if (activity.interval_ns == 0) return;
  stack->cpu_ns_per_s = static_cast<int64_t>(static_cast<double>(activity.cpu_ns) * 1e9 /
                                             static_cast<double>(activity.interval_ns));
}

}  // namespace rollcall
