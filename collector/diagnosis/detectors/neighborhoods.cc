// SPDX-License-Identifier: Apache-2.0
// Finds ranks that wait in a neighborhood collective because of an edge that only one of its ends
// lists. A job that continues despite such an edge is not examined.
#include <algorithm>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

// The process of a rank of the communicator; kNoIndex if it has no trace.
uint32_t ProcessAt(const CommunicatorHistory& histories, int32_t rank) {
  for (const MemberHistory& history : histories.members) {
    if (history.member->rank == rank) return history.process;
  }
  return kNoIndex;
}

// The call in which a process passed its neighbors. If that call is no longer recorded, the call of
// the process in the collective.
const Event* CreationCall(const Analysis& analysis, const CollectiveNode& node, uint32_t process) {
  const Communicator& communicator = analysis.trace.communicators[node.communicator];
  const MemberHistory* parent = analysis.HistoryOf(communicator.parent, process);
  const Event* call = parent == nullptr ? nullptr : parent->At(communicator.parent_sequence);
  return call != nullptr ? call : CallOrPlace(analysis, node.communicator, node.sequence, process);
}

// Whether the process, which is inside the collective, waits because of the edge.
bool WaitsForEdge(const Analysis& analysis, const CollectiveNode& node,
                  const WaitDependency& dependency, uint32_t p, const OddEdge& edge) {
  const int32_t rank = analysis.trace.members[dependency.event->member].rank;
  if (dependency.unanswered) {
    return edge.to == rank && !edge.from_lists && analysis.IsStuck(p) && analysis.Still(p);
  }
  // The library may buffer the data that the process sends. It did not if the process stays inside.
  return edge.from == rank && edge.from_lists && node.missing.empty() && analysis.Still(p) &&
         !analysis.EnteredRecently(p);
}

void LookAtEdges(const Analysis& analysis, const CollectiveNode& node,
                 const std::vector<OddEdge>& edges, std::vector<Incident>* incidents) {
  Incident incident;
  incident.what = Incident::What::kNeighborhood;
  incident.communicator = node.communicator;
  incident.sequence = node.sequence;
  incident.start = node.start;
  incident.hangs = true;
  const OddEdge* first = nullptr;
  for (const uint32_t p : node.inside) {
    for (const WaitDependency& dependency : analysis.graph.processes[p].dependencies) {
      if (dependency.node == kNoIndex || &analysis.graph.nodes[dependency.node] != &node) continue;
      const auto edge = std::ranges::find_if(edges, [&](const OddEdge& candidate) {
        return WaitsForEdge(analysis, node, dependency, p, candidate);
      });
      if (edge == edges.end()) continue;
      incident.agreeing.push_back(p);
      if (first == nullptr) {
        first = &*edge;
        incident.agreeing_event = dependency.event;
      }
    }
  }
  if (first == nullptr) return;
  const CommunicatorHistory& histories = analysis.histories[node.communicator];
  NeighborhoodDetails& details = incident.Set<NeighborhoodDetails>();
  details = {.from = ProcessAt(histories, first->from),
             .to = ProcessAt(histories, first->to),
             .from_lists = first->from_lists,
             .mutual = first->from_is_odd.has_value(),
             .others = edges.size() - 1};
  if (first->from_is_odd.value_or(true)) incident.deviating.push_back(details.from);
  if (!first->from_is_odd.value_or(false)) incident.deviating.push_back(details.to);
  for (const uint32_t p : incident.deviating) {
    incident.calls.push_back(CreationCall(analysis, node, p));
  }
  incident.deviating_event = incident.calls.front();
  incidents->push_back(std::move(incident));
}

}  // namespace

void FindNeighborhoods(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (const CollectiveNode& node : analysis.graph.nodes) {
    const auto edges = analysis.graph.odd_edges.find(node.communicator);
    if (edges == analysis.graph.odd_edges.end() || edges->second.empty()) continue;
    // One edge stops ranks in several rounds. The first round is enough.
    const bool known = std::ranges::any_of(*incidents, [&](const auto& other) {
      return other.what == Incident::What::kNeighborhood && other.communicator == node.communicator;
    });
    if (!known) LookAtEdges(analysis, node, edges->second, incidents);
  }
}

}  // namespace rollcall
