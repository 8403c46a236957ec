// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/live_stacks.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "collector/base/result.h"
#include "collector/live/activity.h"
#include "collector/live/condition_reader.h"
#include "collector/live/live_frames.h"
#include "collector/live/live_stack.h"
#include "collector/live/native_variables.h"
#include "collector/live/process_image.h"
#include "collector/live/process_state.h"
#include "collector/live/socket_wait.h"
#include "collector/matching/user_code.h"

namespace rollcall::agent {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

bool RunsUserCode(const LiveStack& stack) {
  const SourceFrame* user = InnermostUserFrame(stack.frames);
  return user != nullptr && user->line != 0 && !IsFrameworkFrame(*user);
}

bool Runs(const ProcessState& process) {
  return std::ranges::any_of(process.threads, [](const ThreadState& thread) {
    return thread.state == RunState::kRunning;
  });
}

// Returns how a process waits for the world outside the job; empty: the process does not. `threads`
// are the threads that run user code.
std::optional<OutsideWait> FindOutsideWait(const ProcSource& proc, const ProcessState& state,
                                           const std::vector<ThreadActivity>& threads,
                                           bool all_here) {
  const ProcessMemory memory(state.pid);
  std::map<pid_t, std::vector<int>> awaited;
  for (const ThreadActivity& thread : threads) {
    const bool sleeps =
        thread.activity_level == ActivityLevel::kWaiting && thread.state == RunState::kSleeping;
    if (!sleeps) return std::nullopt;
    const auto now = std::ranges::find(state.threads, thread.tid, &ThreadState::tid);
    if (now == state.threads.end()) continue;
    std::vector<int> descriptors = AwaitedDescriptors(proc, state.pid, memory, *now);
    if (!descriptors.empty()) awaited[thread.tid] = std::move(descriptors);
  }
  if (awaited.empty()) return std::nullopt;
  const ProcessSockets sockets(proc, state.pid, all_here);
  for (const auto& [tid, descriptors] : awaited) {
    const std::optional<OutsideWait::For> what = sockets.WaitFor(descriptors);
    if (what) return OutsideWait{.tid = static_cast<uint32_t>(tid), .what = *what};
  }
  return std::nullopt;
}

}  // namespace

LiveLook TakeLiveStacks(pid_t pid, uint64_t start_ticks, bool all_here, bool wait_only,
                        Symbolizer* symbolizer) {
  const ProcSource proc;
  const auto begin = std::chrono::steady_clock::now();
  const Result<ProcessState> before = ReadProcessState(proc, pid, start_ticks);
  if (!before || (wait_only && Runs(*before))) return {};
  const LiveStacks stacks = CaptureLiveStacks(proc, pid);
  std::this_thread::sleep_until(begin + kInterval);
  const Result<ProcessState> after = ReadProcessState(proc, pid, start_ticks);

  LiveLook look;
  std::vector<LiveStack>& results = look.stacks;
  std::vector<ThreadActivity> users;
  for (const LiveThread& thread : stacks.threads) {
    std::optional<ThreadActivity> activity;
    if (after) activity = Summarize(*before, *after, thread.tid);
    // The thread ended during the sample. Its last known position is an earlier stack, if there is
    // one.
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
    if (activity && RunsUserCode(result)) users.push_back(*activity);
    results.push_back(std::move(result));
  }
  if (stacks.threads.empty()) {
    LiveStack result;
    result.tid = static_cast<uint32_t>(pid);
    result.unreadable = stacks.error;
    if (after) result.state = StateText(Summarize(*before, *after, 0));
    results.push_back(std::move(result));
  }
  if (after) look.outside_wait = FindOutsideWait(proc, *after, users, all_here);
  return look;
}

std::vector<VariablesOfFrame> TakeVariables(pid_t pid, uint64_t start_ticks, pid_t tid,
                                            Symbolizer* symbolizer) {
  const ProcSource proc;
  if (!ReadProcessState(proc, pid, start_ticks)) return {};
  LiveStackOptions options;
  options.tid = tid == 0 ? pid : tid;
  options.python_locals = true;
  // The ranks of a hang may use all CPUs, and a thread must run before it can stop. A verdict waits
  // for two seconds.
  options.stop_deadline = std::chrono::milliseconds(250);
  const LiveStacks stacks = CaptureLiveStacks(proc, pid, options);
  std::vector<VariablesOfFrame> frames;
  if (stacks.threads.empty()) return frames;
  const LiveThread& thread = stacks.threads.front();
  if (thread.python.frames.empty()) {
    const ProcessMemory memory(pid);
    ProcessImage image;
    if (image.Load(proc, pid, &memory) != 0) return frames;
    std::error_code none;
    const auto program =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", none);
    return ReadNativeVariables(image, program.string(), thread, symbolizer, &IsUserLine);
  }
  const auto frames_of = [&](const LiveStacks& look) {
    std::vector<VariablesOfFrame> shown;  // innermost first
    if (look.threads.empty()) return shown;
    for (LiveFrame& frame : LiveFrames(look.threads.front(), symbolizer)) {
      if (frame.frame.language != Language::kPython || IsFrameworkFrame(frame.frame)) continue;
      shown.push_back({std::move(frame.frame), std::move(frame.variables)});
    }
    return shown;
  };
  ConditionReader conditions;
  for (const VariablesOfFrame& frame : frames_of(stacks)) {
    for (std::string& name : conditions.NamesAround(frame.frame)) {
      if (std::ranges::find(options.python_asked, name) == options.python_asked.end()) {
        options.python_asked.push_back(std::move(name));
      }
    }
  }
  // Two looks, of which only equal values count: other threads of the process may be running.
  frames = frames_of(CaptureLiveStacks(proc, pid, options));
  const std::vector<VariablesOfFrame> again = frames_of(CaptureLiveStacks(proc, pid, options));
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool there = i < again.size() && again[i].frame == frames[i].frame;
    std::erase_if(frames[i].variables, [&](const Variable& variable) {
      return !there || std::ranges::find(again[i].variables, variable) == again[i].variables.end();
    });
  }
  std::ranges::reverse(frames);
  return frames;
}

}  // namespace rollcall::agent
