// SPDX-License-Identifier: Apache-2.0
#include "collector/report/wait_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/report/show_call.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

using Node = WaitPicture::Node;

class Painter {
 public:
  Painter(const Analysis& analysis, const Report& report)
      : analysis_(analysis), graph_(analysis.graph), culprits_(CulpritsOf(report)) {}

  WaitPicture Paint() {
    Fold();
    for (uint32_t i = 0; i < graph_.processes.size(); ++i) AddEdges(i);
    for (const uint32_t node : nodes_) AddCollective(node);
    for (size_t i = 0; i < analysis_.device.operations.size(); ++i) AddDeviceOperation(i);
    std::map<std::string, size_t> index;
    for (size_t i = 0; i < picture_.nodes.size(); ++i) index[picture_.nodes[i].name] = i;
    for (const auto& [from, to, label] : edges_) {
      picture_.edges.push_back({index.at(from), index.at(to), label});
    }
    return std::move(picture_);
  }

 private:
  using Edge = std::tuple<std::string, std::string, std::string>;
  // The key by which processes share a node. Processes that differ only in their ranks have equal
  // keys.
  struct Likeness {
    uint32_t world;
    Activity activity;
    bool culprit;
    std::string text;             // the call that the processes are in
    std::vector<uint32_t> waits;  // nodes, or
    std::vector<uint32_t> peers;  // processes
    // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm of clang-tidy 14
    auto operator<=>(const Likeness&) const = default;
  };

  // The processes that may send or receive the message.
  std::vector<uint32_t> PeersOf(uint32_t index, const WaitDependency& dependency) const {
    if (dependency.process != kNoIndex) return {dependency.process};
    if (dependency.any_source == kNoIndex) return {};
    std::vector<uint32_t> others = graph_.any_source[dependency.any_source].members;
    std::erase(others, index);
    return others;
  }

  Likeness LikenessOf(uint32_t index) const {
    const Process& process = analysis_.trace.processes[index];
    const ProcessView& view = graph_.processes[index];
    Likeness like{process.world,
                  view.activity,
                  culprits_.contains({process.world, process.rank}),
                  DoingText(index),
                  {},
                  {}};
    for (const WaitDependency& dependency : view.dependencies) {
      if (dependency.node != kNoIndex) like.waits.push_back(dependency.node);
      const std::vector<uint32_t> peers = PeersOf(index, dependency);
      like.peers.insert(like.peers.end(), peers.begin(), peers.end());
    }
    return like;
  }

  // The line of the user's code that the process was seen in; empty: no stack was taken.
  std::string LivePlace(uint32_t index) const {
    const std::vector<LiveStack>& stacks = analysis_.trace.processes[index].live_stacks;
    if (stacks.empty()) return {};
    const std::vector<const SourceFrame*> frames = FramesOf(stacks.front());
    const auto own = std::ranges::find_if(
        frames, [](const SourceFrame* frame) { return !IsFrameworkFrame(*frame); });
    return own == frames.end() ? "" : FramePlace(**own);
  }

  std::string DoingText(uint32_t index) const {
    const ProcessView& view = graph_.processes[index];
    const Event* event = analysis_.CurrentEvent(index);
    std::string text = event == nullptr ? "" : CallText(analysis_, *event, /*arguments=*/false);
    if (event != nullptr && !ShownPlace(analysis_, *event).empty()) {
      text += "  " + ShownPlace(analysis_, *event);
    }
    switch (view.activity) {
      case Activity::kRunning:
        if (!LivePlace(index).empty()) return "outside every call  " + LivePlace(index);
        return text.empty() ? "outside every call" : "after " + text;
      case Activity::kEnded:
        return EndText(analysis_.trace.processes[index]);
      case Activity::kPolling:
        return text.empty() ? "polls" : "polls in " + text;
      case Activity::kBlocked:
      case Activity::kLeft:
        break;
    }
    return text;
  }

  void Fold() {
    std::map<Likeness, size_t> known;
    node_of_.resize(graph_.processes.size());
    for (uint32_t i = 0; i < graph_.processes.size(); ++i) {
      const auto [at, is_new] = known.emplace(LikenessOf(i), picture_.nodes.size());
      if (is_new) {
        picture_.nodes.push_back({.name = fmt::format("r{}", at->second),
                                  .lines = {at->first.text},
                                  .culprit = at->first.culprit,
                                  .stuck = analysis_.IsStuck(i)});
      }
      picture_.nodes[at->second].processes.push_back(i);
      node_of_[i] = at->second;
    }
    for (Node& node : picture_.nodes) node.ranks = analysis_.RanksOf(node.processes);
  }

  std::string NameOf(uint32_t process) const { return picture_.nodes[node_of_[process]].name; }
  static std::string CollectiveName(uint32_t node) { return fmt::format("c{}", node); }

  void AddEdges(uint32_t index) {
    const std::string from = NameOf(index);
    for (const WaitDependency& dependency : graph_.processes[index].dependencies) {
      if (dependency.node != kNoIndex) {
        edges_.emplace(from, CollectiveName(dependency.node), "");
        if (!nodes_.insert(dependency.node).second) continue;
        const CollectiveNode& node = graph_.nodes[dependency.node];
        for (const uint32_t missing : node.missing) {
          edges_.emplace(CollectiveName(dependency.node), NameOf(missing), "missing");
        }
        if (!node.absent.empty()) {
          edges_.emplace(CollectiveName(dependency.node), fmt::format("a{}", dependency.node),
                         "no trace");
        }
      }
      for (const uint32_t peer : PeersOf(index, dependency)) {
        edges_.emplace(from, NameOf(peer), dependency.sends ? "sends" : "receives");
      }
    }
  }

  void AddCollective(uint32_t index) {
    const CollectiveNode& node = graph_.nodes[index];
    const bool mismatched = analysis_.IsMismatched(node);
    std::string call = fmt::format("#{}", node.sequence);
    const MemberHistory* history =
        node.inside.empty() ? nullptr : analysis_.HistoryOf(node.communicator, node.inside.front());
    const Event* event = history == nullptr ? nullptr : history->At(node.sequence);
    // If the calls do not match, no call is shown, because it is unknown which one is right.
    if (event != nullptr && !mismatched) call = CallText(analysis_, *event, /*arguments=*/false);
    picture_.nodes.push_back({.kind = Node::Kind::kCollective,
                              .name = CollectiveName(index),
                              .lines = {call, analysis_.CommunicatorName(node.communicator),
                                        mismatched ? "cannot match" : ""}});
    if (node.absent.empty()) return;
    picture_.nodes.push_back({.kind = Node::Kind::kAbsent,
                              .name = fmt::format("a{}", index),
                              .lines = {"no trace"},
                              .ranks = node.absent});
  }

  // Adds an operation on devices that is the oldest open operation of at least one process.
  void AddDeviceOperation(size_t index) {
    const DeviceOperation& operation = analysis_.device.operations[index];
    const std::string name = fmt::format("d{}", index);
    const std::string call = operation.event == nullptr
                                 ? ""
                                 : CallText(analysis_, *operation.event, /*arguments=*/false);
    picture_.nodes.push_back({.kind = Node::Kind::kDevice,
                              .name = name,
                              .lines = {call, analysis_.CommunicatorName(operation.communicator)}});
    for (const uint32_t process : operation.first) {
      edges_.emplace(NameOf(process), name, "oldest open");
    }
    for (const uint32_t process : operation.behind) {
      edges_.emplace(name, NameOf(process), "waits for an older operation");
    }
    for (const uint32_t process : operation.missing) {
      edges_.emplace(name, NameOf(process), "not enqueued");
    }
  }

  const Analysis& analysis_;
  const WaitGraph& graph_;
  const Culprits culprits_;
  std::vector<size_t> node_of_;  // by process
  std::set<uint32_t> nodes_;     // nodes of the graph: collectives that ranks wait in
  std::set<Edge> edges_;
  WaitPicture picture_;
};

}  // namespace

Culprits CulpritsOf(const Report& report) {
  Culprits culprits;
  for (const Finding& finding : report.findings) {
    for (const int32_t rank : finding.culprits) culprits.emplace(finding.world, rank);
  }
  return culprits;
}

WaitPicture WaitPictureOf(const Analysis& analysis, const Report& report) {
  return Painter(analysis, report).Paint();
}

}  // namespace rollcall
