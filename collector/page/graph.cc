// SPDX-License-Identifier: Apache-2.0
// The wait-for graph.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "collector/diagnosis/graph/components.h"
#include "collector/page/panels.h"

namespace rollcall::page {
namespace {

using Node = WaitPicture::Node;

constexpr size_t kMaxNodes = 60;
constexpr size_t kMaxEdges = 240;

std::string_view KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kRanks:
      return "ranks";
    case Node::Kind::kCollective:
      return "collective";
    case Node::Kind::kDevice:
      return "device";
    case Node::Kind::kAbsent:
      return "absent";
  }
  return "ranks";
}

// The lines of a node, with its ranks first. A call and its place, "MPI_Barrier #2  app.c:88", are
// two lines, because a node is narrow.
Json LinesOf(const Node& node) {
  Json lines = Json::array();
  if (!node.ranks.empty()) {
    const std::string ranks = Ranks(node.ranks)["text"];
    lines.push_back((node.ranks.size() == 1 ? "rank " : "ranks ") + ranks);
  }
  for (std::string_view line : node.lines) {
    const size_t gap = std::min(line.find("  "), line.size());
    if (gap != 0) lines.push_back(Text(line.substr(0, gap)));
    if (gap < line.size()) lines.push_back(Text(line.substr(gap + 2)));
  }
  return lines;
}

// By node: the number of the cycle of waits that contains the node; 0: none.
std::vector<size_t> CyclesOf(const WaitPicture& picture) {
  std::vector<std::vector<uint32_t>> next(picture.nodes.size());
  for (const WaitPicture::Edge& edge : picture.edges) {
    next[edge.from].push_back(static_cast<uint32_t>(edge.to));
  }
  std::vector<uint32_t> all(picture.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  const Components components = FindComponents(static_cast<uint32_t>(all.size()), all,
                                               [&](uint32_t node) { return next[node]; });
  std::vector<size_t> cycles(all.size());
  for (size_t i = 0; i < components.members.size(); ++i) {
    if (components.members[i].size() < 2) continue;
    for (const uint32_t node : components.members[i]) cycles[node] = i + 1;
  }
  return cycles;
}

}  // namespace

Json Graph(const WaitPicture& picture) {
  const std::vector<size_t> cycles = CyclesOf(picture);
  // A rank without edges explains nothing and is left out, unless it is a culprit.
  std::vector<size_t> chosen;
  std::vector<bool> linked(picture.nodes.size());
  for (const WaitPicture::Edge& edge : picture.edges) linked[edge.from] = linked[edge.to] = true;
  for (size_t i = 0; i < picture.nodes.size(); ++i) {
    if (linked[i] || picture.nodes[i].culprit) chosen.push_back(i);
  }
  std::ranges::stable_sort(chosen, [&](size_t a, size_t b) {
    const auto order = [&](size_t i) {
      const Node& node = picture.nodes[i];
      return std::tuple(!node.culprit, cycles[i] == 0, !node.stuck, node.kind == Node::Kind::kRanks,
                        -static_cast<int64_t>(node.ranks.size()));
    };
    return order(a) < order(b);
  });
  std::string left_out;
  if (chosen.size() > kMaxNodes) {
    left_out = fmt::format("{} of {} nodes are left out", chosen.size() - kMaxNodes, chosen.size());
    chosen.resize(kMaxNodes);
  }
  std::map<size_t, size_t> ids;
  Json nodes = Json::array();
  for (const size_t i : chosen) {
    const Node& node = picture.nodes[i];
    nodes.push_back({{"id", ids.size()},
                     {"kind", KindName(node.kind)},
                     {"lines", LinesOf(node)},
                     {"ranks", node.ranks.empty() ? Json() : Ranks(node.ranks)},
                     {"culprit", node.culprit},
                     {"stuck", node.stuck},
                     {"cycle", cycles[i] != 0}});
    ids.emplace(i, ids.size());
  }
  Json edges = Json::array();
  size_t more = 0;
  for (const WaitPicture::Edge& edge : picture.edges) {
    const auto from = ids.find(edge.from);
    const auto to = ids.find(edge.to);
    if (from == ids.end() || to == ids.end()) continue;
    if (edges.size() == kMaxEdges) {
      ++more;
      continue;
    }
    edges.push_back({{"from", from->second},
                     {"to", to->second},
                     {"label", Text(edge.label)},
                     {"cycle", cycles[edge.from] != 0 && cycles[edge.from] == cycles[edge.to]}});
  }
  if (more != 0) {
    left_out += fmt::format("{}{} edges are left out", left_out.empty() ? "" : "; ", more);
  }
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}, {"left_out", left_out}};
}

}  // namespace rollcall::page
