#include "collector/agent/live_stacks.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include "collector/live/activity.h"
#include "collector/live/live_stack.h"
#include "collector/live/process_state.h"
#include "collector/model/python_merge.h"

namespace rollcall::agent {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

std::string StateText(const ThreadActivity& activity) {
  std::string text = activity.pace == Pace::kSpinning || activity.pace == Pace::kBusy
                         ? "running"
                         : RunStateName(activity.state);
  if (!activity.syscall.empty()) text += " in " + activity.syscall;
  return text;
}

// A Python stack that is not whole, in words; empty if nothing is missing.
std::string MissingPython(const PythonStack& python) {
  switch (python.end) {
    case ring::PythonEnd::kOff:
    case ring::PythonEnd::kUnchecked:
    case ring::PythonEnd::kUnreadable:
      return "Python frames unreadable: " + python.detail;
    case ring::PythonEnd::kDepthLimit:
      return "further Python frames";
    default:
      return "";
  }
}

}  // namespace

std::vector<SourceFrame> LiveFrames(const LiveThread& thread, Symbolizer* symbolizer) {
  std::vector<std::vector<SourceFrame>> places;
  std::unordered_set<std::string> embedding;  // modules that hold the interpreter's loop
  for (const CodeAddress& address : thread.frames) {
    places.push_back(symbolizer->Symbolize(address));
    // The last is the function that stands in the binary; the others are inlined into it.
    if (IsInterpreterLoop(places.back().back().function)) embedding.insert(address.module_path);
  }
  std::vector<NativeKind> kinds;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string& module = thread.frames[i].module_path;
    kinds.push_back(NativeKindOf(module, places[i].back().function, embedding.contains(module)));
  }
  const PythonStack& python = thread.python;
  const std::string missing = MissingPython(python);
  const bool runs_python = !python.frames.empty() ||
                           std::find(kinds.begin(), kinds.end(), NativeKind::kLoop) != kinds.end();
  std::vector<SourceFrame> frames;
  if (python.frames.empty()) {
    for (const std::vector<SourceFrame>& place : places) {
      frames.insert(frames.end(), place.begin(), place.end());
    }
  } else {
    std::vector<bool> entries;
    for (const LivePythonFrame& frame : python.frames) entries.push_back(frame.entry);
    const MergedStack merged =
        MergeStacks(kinds, thread.end == ring::StackEnd::kComplete, entries, python.end);
    for (const MergedStep& step : merged.steps) {
      if (step.python) {
        frames.push_back(python.frames[step.index].frame);
      } else {
        frames.insert(frames.end(), places[step.index].begin(), places[step.index].end());
      }
    }
  }
  if (runs_python && !missing.empty()) {
    SourceFrame word;
    word.language = Language::kPython;
    word.function = "<" + missing + ">";
    frames.push_back(std::move(word));
  }
  return frames;
}

std::vector<LiveStack> TakeLiveStacks(pid_t pid, uint64_t start_ticks, Symbolizer* symbolizer) {
  const ProcSource proc;
  std::string error;
  const auto begin = std::chrono::steady_clock::now();
  const std::optional<ProcessState> before = ReadProcessState(proc, pid, start_ticks, &error);
  if (!before.has_value()) return {};
  const LiveStacks stacks = CaptureLiveStacks(proc, pid);
  std::this_thread::sleep_until(begin + kInterval);
  const std::optional<ProcessState> after = ReadProcessState(proc, pid, start_ticks, &error);

  std::vector<LiveStack> looks;
  for (const LiveThread& thread : stacks.threads) {
    LiveStack look;
    look.tid = static_cast<uint32_t>(thread.tid);
    look.thread_name = thread.name;
    look.frames = LiveFrames(thread, symbolizer);
    if (thread.frames.empty()) {
      look.unreadable = !stacks.error.empty() ? stacks.error : thread.detail;
    }
    if (after.has_value()) {
      const ThreadActivity activity = Summarize(*before, *after, thread.tid);
      look.state = StateText(activity);
      if (activity.interval_ns > 0) {
        look.cpu_ns_per_s = static_cast<int64_t>(static_cast<double>(activity.cpu_ns) * 1e9 /
                                                 static_cast<double>(activity.interval_ns));
      }
    }
    looks.push_back(std::move(look));
  }
  if (looks.empty()) {
    LiveStack look;
    look.tid = static_cast<uint32_t>(pid);
    look.unreadable = stacks.error;
    if (after.has_value()) look.state = StateText(Summarize(*before, *after, 0));
    looks.push_back(std::move(look));
  }
  return looks;
}

}  // namespace rollcall::agent
