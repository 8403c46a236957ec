// SPDX-License-Identifier: Apache-2.0
#include "collector/live/live_frames.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "collector/model/python_merge.h"

namespace rollcall {
namespace {

// Describes why a Python stack is incomplete; empty if it is complete.
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

std::vector<LiveFrame> LiveFrames(const LiveThread& thread, Symbolizer* symbolizer) {
  std::vector<std::vector<SourceFrame>> places;
  std::unordered_set<std::string> embedding;  // modules that hold the interpreter's loop
  for (const CodeAddress& address : thread.frames) {
    places.push_back(symbolizer->Symbolize(address));
    // The last one is the function in the binary; the others are inlined into it.
    if (IsInterpreterLoop(places.back().back().function)) embedding.insert(address.module_path);
  }
  std::vector<NativeKind> kinds;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string& module = thread.frames[i].module_path;
    kinds.push_back(NativeKindOf(module, places[i].back().function, embedding.contains(module)));
  }
  const PythonStack& python = thread.python;
  const std::string missing = MissingPython(python);
  const bool runs_python =
      !python.frames.empty() || std::ranges::find(kinds, NativeKind::kLoop) != kinds.end();
  std::vector<LiveFrame> frames;
  const auto add_native = [&](size_t index) {
    const uint64_t digest = index < thread.digests.size() ? thread.digests[index] : 0;
    for (const SourceFrame& frame : places[index]) {
      frames.push_back({frame, digest, {}, thread.frames[index].build_id});
    }
  };
  if (python.frames.empty()) {
    for (size_t i = 0; i < places.size(); ++i) add_native(i);
  } else {
    std::vector<bool> entries;
    for (const LivePythonFrame& frame : python.frames) entries.push_back(frame.entry);
    const MergedStack merged =
        MergeStacks(kinds, thread.end == ring::StackEnd::kComplete, entries, python.end);
    for (const MergedStep& step : merged.steps) {
      if (step.python) {
        const LivePythonFrame& frame = python.frames[step.index];
        frames.push_back({frame.frame, frame.digest, frame.integers, {}, frame.variables});
      } else {
        add_native(step.index);
      }
    }
  }
  if (runs_python && !missing.empty()) {
    SourceFrame word;
    word.language = Language::kPython;
    word.function = "<" + missing + ">";
    frames.push_back({std::move(word)});
  }
  return frames;
}

}  // namespace rollcall
