// SPDX-License-Identifier: Apache-2.0
// The stacks of all ranks, as a tree of their common frames.
#include "collector/report/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/page/panels.h"
#include "collector/report/stack_tree.h"

namespace rollcall::page {
namespace {

constexpr size_t kMaxStacks = 512;  // different stacks
constexpr size_t kMaxFrameNodes = 1500;

// The action of a process at the innermost frame of its call path.
std::string Doing(const AlignedTrace& analysis, uint32_t index, const Event& event) {
  std::string operation = OperationName(analysis.Op(event));
  switch (analysis.graph.processes[index].activity) {
    case Activity::kRunning:
      return "after " + operation;
    case Activity::kEnded:
      return "ended after " + operation;
    case Activity::kPolling:
      return "polls in " + operation;
    case Activity::kBlocked:
    case Activity::kLeft:
      break;
  }
  return operation;
}

// Ranks by their call path and their action there.
using Groups = std::map<std::pair<uint32_t, std::string>, std::vector<int32_t>>;

class Tree {
 public:
  Json Node(const StackNode& node, const std::string& thread) {
    ++nodes_;
    Json callees = Json::array();
    for (const StackNode& callee : node.callees) {
      if (nodes_ >= kMaxFrameNodes) {
        ++left_out_;
        continue;
      }
      const bool of_thread = callee.function.starts_with(kThread);
      callees.push_back(Node(callee, of_thread ? callee.function.substr(kThread.size()) : thread));
    }
    std::vector<int32_t> ranks = node.ranks;
    std::ranges::sort(ranks);
    return {{"function", Text(node.function)},
            {"place", Text(node.place)},
            {"user", node.user},
            {"ranks", Ranks(ranks)},
            {"thread", Text(thread)},
            {"callees", std::move(callees)}};
  }
  size_t left_out() const { return left_out_; }

 private:
  static constexpr std::string_view kThread = "thread ";  // see StackTree()
  size_t nodes_ = 0;
  size_t left_out_ = 0;
};

}  // namespace

Json Stacks(const AlignedTrace& analysis) {
  const Trace& trace = analysis.trace;
  std::vector<RankStack> stacks;
  Groups groups;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const Process& process = trace.processes[i];
    if (!process.live_stacks.empty()) {
      AddLiveStacks(process, /*full=*/true, &stacks);
      continue;
    }
    const Event* event = analysis.CurrentEvent(i);
    if (event == nullptr || event->call_path == kNoIndex) continue;
    groups[{event->call_path, Doing(analysis, i, *event)}].push_back(process.rank);
  }
  std::vector<const Groups::value_type*> by_size;
  for (const auto& group : groups) by_size.push_back(&group);
  std::ranges::stable_sort(
      by_size, [](const auto* a, const auto* b) { return a->second.size() > b->second.size(); });
  size_t left_out = 0;
  for (size_t i = 0; i < by_size.size(); ++i) {
    if (i >= kMaxStacks) {
      left_out += by_size[i]->second.size();
      continue;
    }
    const auto& [call_path, doing] = by_size[i]->first;
    for (const int32_t rank : by_size[i]->second) {
      stacks.push_back({.rank = rank, .frames = FramesOf(trace, call_path), .doing = doing});
    }
  }
  std::ranges::stable_sort(stacks, [](const RankStack& a, const RankStack& b) {
    return std::tuple(!a.thread.empty(), a.rank) < std::tuple(!b.thread.empty(), b.rank);
  });
  StackNode root = StackTree(stacks, /*full=*/true);
  for (const RankStack& stack : stacks) root.ranks.push_back(stack.rank);
  Normalize(&root.ranks);
  Tree tree;
  Json json = tree.Node(root, "");
  std::string text;
  if (left_out != 0) text = fmt::format("the stacks of {} ranks are left out", left_out);
  if (tree.left_out() != 0) {
    text += fmt::format("{}the callees of {} frames are left out", text.empty() ? "" : "; ",
                        tree.left_out());
  }
  return {{"root", std::move(json)}, {"left_out", text}};
}

}  // namespace rollcall::page
