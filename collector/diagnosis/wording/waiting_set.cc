// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/waiting_set.h"

#include <algorithm>
#include <set>

#include "collector/diagnosis/detectors/waiting.h"

namespace rollcall {
namespace {

// The processes that could release one of `from`, directly or by releasing another waiting process.
// Includes `from`.
std::set<uint32_t> Reach(const WaitGraph& graph, const std::vector<uint32_t>& from) {
  std::set<uint32_t> reached(from.begin(), from.end());
  std::set<uint32_t> nodes;
  std::set<uint32_t> anybodies;
  std::vector<uint32_t> work = from;
  const auto reach = [&](const std::vector<uint32_t>& processes) {
    for (const uint32_t process : processes) {
      if (reached.insert(process).second) work.push_back(process);
    }
  };
  while (!work.empty()) {
    const ProcessView& view = graph.processes[work.back()];
    work.pop_back();
    for (const WaitDependency& dependency : view.dependencies) {
      if (dependency.process != kNoIndex) reach({dependency.process});
      reach(dependency.relevant);
      if (dependency.node != kNoIndex && dependency.relevant.empty() &&
          nodes.insert(dependency.node).second) {
        reach(graph.nodes[dependency.node].missing);
      }
      if (dependency.any_source != kNoIndex && anybodies.insert(dependency.any_source).second) {
        reach(graph.any_source[dependency.any_source].members);
      }
    }
  }
  return reached;
}

}  // namespace

void AddWaitingSet(const Analysis& analysis, const std::vector<uint32_t>& set, Finding* finding) {
  finding->waiting_set = analysis.RanksOf(set);
  const std::set<uint32_t> reached = Reach(analysis.graph, set);
  finding->awaited =
      analysis.RanksOf(Without(std::vector<uint32_t>(reached.begin(), reached.end()), set));
}

std::vector<uint32_t> ProcessesOf(const Trace& trace, const Finding& finding,
                                  const std::vector<int32_t>& ranks) {
  std::vector<uint32_t> result;
  for (const int32_t rank : ranks) {
    const uint32_t process = ProcessOf(trace, finding.world, rank);
    if (process != kNoIndex) result.push_back(process);
  }
  return result;
}

bool StoodStill(const Trace& trace, const Finding& finding) {
  return AllQuiet(trace, ProcessesOf(trace, finding, finding.waiting_set));
}

}  // namespace rollcall
