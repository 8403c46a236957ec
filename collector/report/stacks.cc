// SPDX-License-Identifier: Apache-2.0
#include "collector/report/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<const SourceFrame*> FramesOf(const Trace& trace, uint32_t call_path) {
  std::vector<const SourceFrame*> frames;
  if (call_path == kNoIndex) return frames;
  for (const uint32_t code : trace.call_paths[call_path].codes) {
    for (const SourceFrame& frame : trace.codes[code].frames) frames.push_back(&frame);
  }
  return frames;
}

std::vector<const SourceFrame*> FramesOf(const LiveStack& stack) {
  std::vector<const SourceFrame*> frames;
  for (const SourceFrame& frame : stack.frames) frames.push_back(&frame);
  return frames;
}

int32_t CpuPercent(const LiveStack& stack) {
  constexpr int64_t kPercent = 10'000'000;  // of a second, in ns
  return stack.cpu_ns_per_s < 0
             ? -1
             : static_cast<int32_t>((stack.cpu_ns_per_s + kPercent / 2) / kPercent);
}

bool HasPython(const std::vector<const SourceFrame*>& frames) {
  return std::ranges::any_of(
      frames, [](const SourceFrame* frame) { return frame->language == Language::kPython; });
}

size_t UserFrames(const std::vector<const SourceFrame*>& frames) {
  return static_cast<size_t>(std::ranges::count_if(
      frames, [](const SourceFrame* frame) { return !IsFrameworkFrame(*frame); }));
}

std::string FramePlace(const SourceFrame& frame) {
  if (frame.line != 0) return fmt::format("{}:{}", BaseName(frame.file), frame.line);
  if (frame.language == Language::kPython && !frame.file.empty()) return BaseName(frame.file);
  if (frame.module.empty()) return "?";
  return fmt::format("{}+{:#x}", BaseName(frame.module), frame.vaddr);
}

std::vector<std::string> FrameLines(const std::vector<const SourceFrame*>& frames, bool full) {
  std::vector<std::string> lines;
  size_t width = 0;
  for (const SourceFrame* frame : frames) {
    // An address in a file with a long name would make the column too wide.
    const bool in_column = frame->line != 0 && (full || !IsFrameworkFrame(*frame));
    if (in_column) width = std::max(width, FramePlace(*frame).size());
  }
  std::string last;  // the last line of a frame; `times` counts its repetitions
  size_t times = 0;
  size_t folded = 0;
  std::vector<std::string> of;
  const auto fold = [&](bool outermost = false) {
    // The start-up frames of a program are not shown.
    const bool start = outermost && std::ranges::all_of(of, [](const std::string& name) {
                         return name == "libc" || name == "Python";
                       });
    if (folded == 0 || start) return;
    lines.push_back(fmt::format("… {} of {}", CountText(folded, "frame"), fmt::join(of, ", ")));
    folded = 0;
    of.clear();
    last.clear();
  };
  for (const SourceFrame* frame : frames) {
    const std::string framework = FrameworkOf(*frame);
    if (!full && !framework.empty()) {
      ++folded;
      if (std::ranges::find(of, framework) == of.end()) of.push_back(framework);
      continue;
    }
    fold();
    std::string line = fmt::format("{:<{}}   {}", FramePlace(*frame), width, frame->function);
    if (full && !framework.empty()) line += fmt::format("   [{}]", framework);
    if (!frame->note.empty()) line += fmt::format("   ({})", frame->note);
    line.resize(line.find_last_not_of(' ') + 1);
    if (!full && !lines.empty() && line == last) {
      lines.back() = fmt::format("{}   ({} times)", last, ++times);
    } else {
      lines.push_back(line);
      last = std::move(line);
      times = 1;
    }
  }
  fold(true);
  return lines;
}

std::vector<std::string> StackLines(const Trace& trace, uint32_t call_path, bool full) {
  const std::vector<const SourceFrame*> frames = FramesOf(trace, call_path);
  std::vector<std::string> lines = FrameLines(frames, full);
  if (frames.empty()) return lines;
  const CallPath& path = trace.call_paths[call_path];
  if (!IsWhole(path)) lines.emplace_back("… further frames were not recorded");
  if (full && path.python_apart) {
    lines.emplace_back(
        "(native frames between Python frames are left out: they could not be merged)");
  }
  return lines;
}

}  // namespace rollcall
