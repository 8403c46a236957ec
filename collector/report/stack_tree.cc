// SPDX-License-Identifier: Apache-2.0
#include "collector/report/stack_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

StackNode* Child(StackNode* parent, const std::string& function, const std::string& place,
                 int32_t rank) {
  auto node = std::ranges::find_if(parent->callees, [&](const StackNode& known) {
    return known.function == function && known.place == place;
  });
  if (node == parent->callees.end()) {
    node = parent->callees.emplace(node);
    node->function = function;
    node->place = place;
  }
  // Several threads of a rank may pass through this node.
  if (node->ranks.empty() || node->ranks.back() != rank) node->ranks.push_back(rank);
  return &*node;
}

// The public name of the function. If debug symbols of the C library are installed, its frames have
// internal names: "__libc_read", "__GI___poll".
std::string_view CalledName(const SourceFrame& frame) {
  std::string_view name = frame.function;
  if (FrameworkOf(frame) != "libc") return name;
  for (const std::string_view prefix : {"__GI_", "__libc_", "__"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

// Outermost first.
std::vector<const SourceFrame*> ShownFrames(std::vector<const SourceFrame*> frames, bool full) {
  std::ranges::reverse(frames);
  if (full) return frames;
  std::vector<const SourceFrame*> own;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(own),
               [](const SourceFrame* frame) { return !IsFrameworkFrame(*frame); });
  return own.empty() ? frames : own;
}

std::string CpuText(const StackNode& node) {
  if (node.max_cpu_percent < 0) return {};
  return node.min_cpu_percent == node.max_cpu_percent
             ? fmt::format(", {}% CPU", node.max_cpu_percent)
             : fmt::format(", {}-{}% CPU", node.min_cpu_percent, node.max_cpu_percent);
}

void AddLines(const StackNode& node, size_t depth, std::vector<std::vector<std::string>>* rows) {
  const StackNode* at = &node;
  for (;;) {
    std::string text(2 * depth, ' ');
    text += at->function + CpuText(*at);
    if (!at->place.empty()) text += " (" + at->place + ")";
    rows->push_back({FoldRanks(at->ranks), std::move(text)});
    if (at->callees.size() != 1) break;
    at = &at->callees.front();
  }
  for (const StackNode& callee : at->callees) AddLines(callee, depth + 1, rows);
}

}  // namespace

StackNode StackTree(const std::vector<RankStack>& stacks, bool full) {
  StackNode root;
  for (const RankStack& stack : stacks) {
    StackNode* node = &root;
    if (!stack.thread.empty()) node = Child(node, "thread " + stack.thread, "", stack.rank);
    for (const SourceFrame* frame : ShownFrames(stack.frames, full)) {
      const std::string& name = frame->function.empty() ? frame->module : frame->function;
      node = Child(node, name, frame->line == 0 ? "" : FramePlace(*frame), stack.rank);
      node->user = !IsFrameworkFrame(*frame);
    }
    node = Child(node, "→ " + stack.doing, "", stack.rank);
    if (stack.cpu_percent < 0) continue;
    const bool is_first = node->max_cpu_percent < 0;
    node->min_cpu_percent =
        is_first ? stack.cpu_percent : std::min(node->min_cpu_percent, stack.cpu_percent);
    node->max_cpu_percent = std::max(node->max_cpu_percent, stack.cpu_percent);
  }
  return root;
}

std::vector<std::string> StackTreeLines(const StackNode& root) {
  std::vector<std::vector<std::string>> rows;
  for (const StackNode& callee : root.callees) AddLines(callee, 0, &rows);
  return AlignColumns(rows);
}

void AddLiveStacks(const Process& process, bool full, std::vector<RankStack>* stacks) {
  for (const LiveStack& live : process.live_stacks) {
    const bool is_main = &live == &process.live_stacks.front();
    RankStack stack = {.rank = process.rank,
                       .frames = FramesOf(live),
                       .doing = live.state.empty() ? "outside every call" : live.state,
                       .cpu_percent = CpuPercent(live)};
    if (!is_main && !full && UserFrames(stack.frames) == 0) continue;
    if (!is_main) {
      stack.thread = live.thread_name.empty() ? std::to_string(live.tid) : live.thread_name;
    }
    // The first folded frame is the function that the user's code called.
    const auto own = std::ranges::find_if(
        stack.frames, [](const SourceFrame* frame) { return !IsFrameworkFrame(*frame); });
    if (!full && own != stack.frames.begin() && own != stack.frames.end()) {
      const std::string_view called = CalledName(**std::prev(own));
      if (!called.empty()) stack.doing = fmt::format("{}, {}", called, stack.doing);
    }
    stacks->push_back(std::move(stack));
  }
}

std::vector<RankStack> LiveStacksOf(const Trace& trace, const Finding& finding, bool full) {
  std::vector<RankStack> stacks;
  bool is_live = false;
  for (const Site& site : finding.sites) {
    is_live |= site.live;
    if (site.live) {
      for (const uint32_t process : ProcessesOf(trace, finding, site.ranks)) {
        AddLiveStacks(trace.processes[process], full, &stacks);
      }
    } else if (site.call_path != kNoIndex) {
      for (const int32_t rank : site.ranks) {
        stacks.push_back({.rank = rank,
                          .frames = FramesOf(trace, site.call_path),
                          .doing = site.what.substr(0, site.what.find("  ("))});
      }
    }
  }
  if (!is_live) return {};
  std::ranges::stable_sort(stacks, [](const RankStack& a, const RankStack& b) {
    return std::tuple(!a.thread.empty(), a.rank) < std::tuple(!b.thread.empty(), b.rank);
  });
  return stacks;
}

}  // namespace rollcall
