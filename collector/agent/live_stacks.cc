#include "collector/agent/live_stacks.h"

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "collector/live/activity.h"
#include "collector/live/live_frames.h"
#include "collector/live/live_stack.h"
#include "collector/live/process_state.h"

namespace rollcall::agent {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

}  // namespace

std::vector<LiveStack> TakeLiveStacks(pid_t pid, uint64_t start_ticks, Symbolizer* symbolizer) {
  const ProcSource proc;
  std::string error;
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<ProcessState> before = ReadProcessState(proc, pid, start_ticks, &error);
  if (!before.has_value()) return {};
  const LiveStacks stacks = CaptureLiveStacks(proc, pid);
  std::this_thread::sleep_until(begin + kInterval);
  const std::optional<ProcessState> after = ReadProcessState(proc, pid, start_ticks, &error);

  std::vector<LiveStack> results;
  for (const LiveThread& thread : stacks.threads) {
    std::optional<ThreadActivity> activity;
    if (after.has_value()) activity = Summarize(*before, *after, thread.tid);
    // The thread ended during the sample. An earlier stack of it remains its last known position.
    if (thread.frames.empty() && activity && activity->activity_level == ActivityLevel::kEnded)
      continue;
    LiveStack result;
    result.tid = static_cast<uint32_t>(thread.tid);
    result.thread_name = thread.name;
    for (LiveFrame& frame : LiveFrames(thread, symbolizer)) {
      result.frames.push_back(std::move(frame.frame));
    }
    if (thread.frames.empty()) {
      result.unreadable = !stacks.error.empty() ? stacks.error : thread.detail;
    }
    if (activity) SetActivity(*activity, &result);
    results.push_back(std::move(result));
  }
  if (stacks.threads.empty()) {
    LiveStack result;
    result.tid = static_cast<uint32_t>(pid);
    result.unreadable = stacks.error;
    if (after.has_value()) result.state = StateText(Summarize(*before, *after, 0));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace rollcall::agent
