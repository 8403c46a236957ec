// The wait-for graph in Graphviz's language. Ranks that wait for the same thing at the same place
// share one box. A collective is an ellipse between the ranks inside it and the ranks that are
// missing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/diagnosis/wording/call_text.h"
#include "collector/export/exporter.h"
#include "collector/model/rank_set.h"
#include "collector/report/show_call.h"

namespace rollcall {
namespace {

// A quoted string. Only quotes and backslashes are special in it, and "\n" breaks the line
// (https://graphviz.org/doc/info/lang.html, escString).
std::string Label(const std::vector<std::string>& lines) {
  std::string text = "\"";
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    if (text.size() > 1) text += "\\n";
    for (const char c : line) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return text + '"';
}

class DotWriter {
 public:
  DotWriter(const Analysis& analysis, const Report& report, std::ostream* out)
      : analysis_(analysis), graph_(analysis.graph), out_(*out) {
    for (const Finding& finding : report.findings) {
      for (const int32_t rank : finding.culprits) culprits_.emplace(finding.world, rank);
    }
  }

  void Write(const Report& report) {
    Fold();
    out_ << "digraph rollcall {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n"
            "  edge [fontname=\"sans-serif\"];\n";
    if (!report.findings.empty()) {
      out_ << fmt::format("  label={};\n", Label({report.findings.front().title}));
    }
    for (size_t box = 0; box < boxes_.size(); ++box) WriteBox(box);
    for (const uint32_t node : nodes_) WriteNode(node);
    for (size_t i = 0; i < analysis_.device.operations.size(); ++i) WriteDeviceOperation(i);
    for (const auto& [from, to, label] : edges_) {
      out_ << fmt::format("  {} -> {}", from, to);
      if (!label.empty()) out_ << fmt::format(" [label={}]", Label({label}));
      out_ << ";\n";
    }
    out_ << "}\n";
  }

 private:
  using Edge = std::tuple<std::string, std::string, std::string>;
  // The key by which processes share a box: processes that differ in their ranks only have equal
  // keys.
  struct Likeness {
    uint32_t world;
    Activity activity;
    bool culprit;
    std::string text;             // the call that they are in
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

  std::string DoingText(uint32_t index) const {
    const ProcessView& view = graph_.processes[index];
    const Event* event = analysis_.CurrentEvent(index);
    std::string text = event == nullptr ? "" : CallText(analysis_, *event, /*arguments=*/false);
    if (event != nullptr && !ShownPlace(analysis_, *event).empty()) {
      text += "  " + ShownPlace(analysis_, *event);
    }
    switch (view.activity) {
      case Activity::kRunning:
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
    box_of_.resize(graph_.processes.size());
    for (uint32_t i = 0; i < graph_.processes.size(); ++i) {
      const auto [at, is_new] = known.emplace(LikenessOf(i), boxes_.size());
      if (is_new) boxes_.push_back({});
      boxes_[at->second].push_back(i);
      box_of_[i] = at->second;
    }
    for (uint32_t i = 0; i < graph_.processes.size(); ++i) AddEdges(i);
    for (size_t i = 0; i < analysis_.device.operations.size(); ++i) AddDeviceEdges(i);
  }

  static std::string BoxName(size_t box) { return fmt::format("r{}", box); }
  static std::string NodeName(uint32_t node) { return fmt::format("c{}", node); }

  void AddEdges(uint32_t index) {
    const std::string from = BoxName(box_of_[index]);
    for (const WaitDependency& dependency : graph_.processes[index].dependencies) {
      if (dependency.node != kNoIndex) {
        edges_.emplace(from, NodeName(dependency.node), "");
        if (!nodes_.insert(dependency.node).second) continue;
        const CollectiveNode& node = graph_.nodes[dependency.node];
        for (const uint32_t missing : node.missing) {
          edges_.emplace(NodeName(dependency.node), BoxName(box_of_[missing]), "missing");
        }
        if (!node.absent.empty()) {
          edges_.emplace(NodeName(dependency.node), fmt::format("a{}", dependency.node),
                         "no trace");
        }
      }
      for (const uint32_t peer : PeersOf(index, dependency)) {
        edges_.emplace(from, BoxName(box_of_[peer]), dependency.sends ? "sends" : "receives");
      }
    }
  }

  // Edges of an operation on devices, which is the oldest open one of at least one process.
  void AddDeviceEdges(size_t index) {
    const DeviceOperation& operation = analysis_.device.operations[index];
    const std::string name = fmt::format("d{}", index);
    for (const uint32_t process : operation.first) {
      edges_.emplace(BoxName(box_of_[process]), name, "oldest open");
    }
    for (const uint32_t process : operation.behind) {
      edges_.emplace(name, BoxName(box_of_[process]), "waits for an older operation");
    }
    for (const uint32_t process : operation.missing) {
      edges_.emplace(name, BoxName(box_of_[process]), "not enqueued");
    }
  }

  void WriteDeviceOperation(size_t index) {
    const DeviceOperation& operation = analysis_.device.operations[index];
    const std::string call = operation.event == nullptr
                                 ? ""
                                 : CallText(analysis_, *operation.event, /*arguments=*/false);
    out_ << fmt::format("  d{} [shape=ellipse, label={}];\n", index,
                        Label({call, analysis_.CommunicatorName(operation.communicator)}));
  }

  void WriteBox(size_t box) {
    const Process& first = analysis_.trace.processes[boxes_[box].front()];
    const bool culprit = culprits_.contains({first.world, first.rank});
    const bool stuck = analysis_.IsStuck(boxes_[box].front());
    out_ << fmt::format(
        "  {} [label={}{}];\n", BoxName(box),
        Label({RanksPhrase(analysis_.RanksOf(boxes_[box])), DoingText(boxes_[box].front())}),
        culprit ? ", color=red, penwidth=2"
        : stuck ? ", color=orange"
                : "");
  }

  void WriteNode(uint32_t index) {
    const CollectiveNode& node = graph_.nodes[index];
    const bool mismatched = analysis_.IsMismatched(node);
    std::string call = fmt::format("#{}", node.sequence);
    const MemberHistory* history =
        node.inside.empty() ? nullptr : analysis_.HistoryOf(node.communicator, node.inside.front());
    const Event* event = history == nullptr ? nullptr : history->At(node.sequence);
    // If the calls do not match, it is unknown which one is right, so none is shown.
    if (event != nullptr && !mismatched) call = CallText(analysis_, *event, /*arguments=*/false);
    out_ << fmt::format("  {} [shape=ellipse, label={}];\n", NodeName(index),
                        Label({call, analysis_.CommunicatorName(node.communicator),
                               mismatched ? "cannot match" : ""}));
    if (!node.absent.empty()) {
      out_ << fmt::format("  a{} [style=dashed, label={}];\n", index,
                          Label({RanksPhrase(node.absent), "no trace"}));
    }
  }

  const Analysis& analysis_;
  const WaitGraph& graph_;
  std::ostream& out_;
  std::set<std::pair<uint32_t, int32_t>> culprits_;  // world, rank
  std::vector<std::vector<uint32_t>> boxes_;         // processes
  std::vector<size_t> box_of_;                       // by process
  std::set<uint32_t> nodes_;
  std::set<Edge> edges_;
};

}  // namespace

void ExportDot(const Subject& subject, std::ostream& out) {
  const AnalyzedTrace settled = Analyze(subject.trace, subject.diagnose);
  DotWriter(settled.analysis, subject.report, &out).Write(subject.report);
}

}  // namespace rollcall
