// SPDX-License-Identifier: Apache-2.0
// Which ranks a rank inside a collective waits for, by the data that it receives there.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COLLECTIVE_DEPENDENCIES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COLLECTIVE_DEPENDENCIES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/diagnosis/graph/wait_graph.h"
#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall {

// Refers to both arguments, which must outlive this object. Not thread-safe: the ranks of a
// communicator are collected when first requested.
class CollectiveDependencies {
 public:
  CollectiveDependencies(const Trace& trace, const std::vector<CommunicatorHistory>& histories)
      : trace_(trace), histories_(histories) {}

  // Fills in `relevant` and `strict` of `dependency`, the wait of process `p` for `node`. A
  // collective may return as soon as the caller's part is complete (MPI 4.0, 6.1).
  void Refine(uint32_t p, const CollectiveNode& node, WaitDependency* dependency);
  // Fills in `unanswered`, for a neighborhood collective.
  void RefineByEdges(const CollectiveNode& node, const std::vector<OddEdge>& odd,
                     WaitDependency* dependency);

 private:
  bool NeedsNobody(const Arguments& arguments, Rule rule) const;
  void RefineRooted(uint32_t p, const CollectiveNode& node, const Arguments& arguments, Rule rule,
                    WaitDependency* dependency);
  void RefineNeighbors(const CollectiveNode& node, const std::vector<uint64_t>* counts,
                       WaitDependency* dependency);
  void OnlyOtherGroup(uint32_t p, const CollectiveNode& node, WaitDependency* dependency) const;
  bool SameGroup(uint32_t a, uint32_t b, uint32_t communicator) const;
  int32_t LocalRank(uint32_t process, uint32_t communicator);

  const Trace& trace_;
  const std::vector<CommunicatorHistory>& histories_;
  std::unordered_map<uint32_t, std::unordered_map<uint32_t, int32_t>> local_ranks_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COLLECTIVE_DEPENDENCIES_H_
