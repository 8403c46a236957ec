// SPDX-License-Identifier: Apache-2.0
// The last calls of each class of ranks, by time.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "collector/page/panels.h"
#include "collector/report/show.h"
#include "collector/report/show_call.h"

namespace rollcall::page {
namespace {

constexpr int64_t kSpanNs = 10'000'000'000;
constexpr size_t kMaxLanes = 40;
constexpr size_t kMaxSpans = 120;  // of a class
constexpr size_t kSeenSpans = 40;  // of a class, in the initial view
constexpr int64_t kMargin = 16;    // the margin is this fraction (1/16) of the shown time

using Node = WaitPicture::Node;

int64_t LastStart(const Trace& trace) {
  int64_t last_ns = kNoTime;
  for (const Member& member : trace.members) {
    if (!member.events.empty()) last_ns = std::max(last_ns, member.events.back().start_ns);
  }
  for (const Process& process : trace.processes) {
    if (!process.p2p.empty()) last_ns = std::max(last_ns, process.p2p.back().start_ns);
    if (!process.lifecycle.empty()) last_ns = std::max(last_ns, process.lifecycle.back().start_ns);
  }
  return last_ns;
}

// The nodes of ranks, culprits first, then large nodes.
std::vector<const Node*> ClassesOf(const WaitPicture& picture) {
  std::vector<const Node*> nodes;
  for (const Node& node : picture.nodes) {
    if (node.kind == Node::Kind::kRanks) nodes.push_back(&node);
  }
  std::ranges::stable_sort(nodes, [](const Node* a, const Node* b) {
    return std::tuple(!a->culprit, b->ranks.size()) < std::tuple(!b->culprit, a->ranks.size());
  });
  return nodes;
}

// The process whose calls represent the class.
uint32_t ExampleOf(const Node& node) { return node.processes.front(); }

}  // namespace

// Calls take microseconds in one program and seconds in another. So the timeline begins early
// enough to show the last calls of each class, but at most ten seconds before the last call.
int64_t TimelineBegin(const AlignedTrace& analysis, const WaitPicture& picture) {
  const int64_t last_ns = LastStart(analysis.trace);
  if (last_ns == kNoTime) return 0;
  std::vector<const Node*> nodes = ClassesOf(picture);
  nodes.resize(std::min(nodes.size(), kMaxLanes));
  int64_t begin_ns = last_ns;
  for (const Node* node : nodes) {
    const std::vector<const Event*> calls = analysis.Timeline(ExampleOf(*node));
    for (size_t i = calls.size() - std::min(calls.size(), kSeenSpans); i < calls.size(); ++i) {
      const int64_t start_ns = calls[i]->start_ns;
      if (start_ns >= last_ns - kSpanNs) begin_ns = std::min(begin_ns, start_ns);
    }
  }
  return std::max<int64_t>(0, begin_ns - (last_ns - begin_ns) / kMargin);
}

Json Timeline(const AlignedTrace& analysis, const WaitPicture& picture, int64_t begin_ns,
              Calls* calls) {
  std::vector<const Node*> nodes = ClassesOf(picture);
  std::string left_out;
  if (nodes.size() > kMaxLanes) {
    left_out = fmt::format("{} of {} classes are left out", nodes.size() - kMaxLanes, nodes.size());
    nodes.resize(kMaxLanes);
  }
  // Open calls are drawn to the end.
  const int64_t last_ns = std::max(LastStart(analysis.trace), begin_ns);
  int64_t end_ns = last_ns + (last_ns - begin_ns) / kMargin;
  Json classes = Json::array();
  for (const Node* node : nodes) {
    const uint32_t index = ExampleOf(*node);
    const Process& process = analysis.trace.processes[index];
    const std::vector<const Event*> all = CallsOf(analysis, index);
    Json spans = Json::array();
    for (size_t i = all.size() - std::min(all.size(), kMaxSpans); i < all.size(); ++i) {
      const Event& event = *all[i];
      const bool inside = IsInside(process, event);
      if (event.start_ns == kNoTime || (!inside && event.end_ns < begin_ns)) continue;
      const Json call = calls->NumberOf(event);
      if (call.is_null()) continue;
      const int64_t end = std::max(event.start_ns, event.end_ns);
      end_ns = std::max(end_ns, end);
      spans.push_back(Json::array(
          {event.start_ns - begin_ns, inside ? Json() : Json(end - event.start_ns), call}));
    }
    if (spans.empty()) continue;
    classes.push_back({{"ranks", Ranks(node->ranks)},
                       {"shown", process.rank},
                       {"culprit", node->culprit},
                       {"spans", std::move(spans)}});
  }
  return {{"span", end_ns - begin_ns}, {"classes", std::move(classes)}, {"left_out", left_out}};
}

Json Difference(const AlignedTrace& analysis, const Report& report) {
  constexpr size_t kAround = 12;
  if (report.findings.empty()) return nullptr;
  const Finding& finding = report.findings.front();
  const auto process_of = [&](const std::vector<int32_t>& ranks) {
    for (const int32_t rank : ranks) {
      const uint32_t process = ProcessOf(analysis.trace, finding.world, rank);
      if (process != kNoIndex) return process;
    }
    return kNoIndex;
  };
  const uint32_t culprit = process_of(finding.culprits);
  const uint32_t other = process_of(finding.waiting);
  if (culprit == kNoIndex || other == kNoIndex || culprit == other) return nullptr;
  const CallDifference difference = CompareCalls(analysis, culprit, other, kAround);
  if (difference.rows.empty()) return nullptr;
  Json rows = Json::array();
  for (size_t i = 0; i < difference.rows.size(); ++i) {
    const std::vector<std::string>& row = difference.rows[i];
    rows.push_back({{"left", Text(row[0])},
                    {"right", Text(row[2])},
                    {"same", row[1] == CallDifference::kSame},
                    {"first", i == difference.first}});
  }
  return {{"left", Text(difference.left)},
          {"right", Text(difference.right)},
          {"summary", Text(fmt::format("{}", fmt::join(difference.notes, "; ")))},
          {"rows", std::move(rows)}};
}

}  // namespace rollcall::page
