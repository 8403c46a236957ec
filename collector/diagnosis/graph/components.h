// SPDX-License-Identifier: Apache-2.0
// Strongly connected components of a directed graph.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace rollcall {

struct Components {
  // each is increasing; a component follows the components that it leads to
  std::vector<std::vector<uint32_t>> members;
  std::vector<uint32_t> of;  // by vertex: its index in `members`; kNoIndex if not reached
};

// The components that are reachable from `roots`. Vertices are numbers below `vertices`; `next` is
// called once for each reached vertex. Linear.
Components FindComponents(uint32_t vertices, const std::vector<uint32_t>& roots,
                          const std::function<std::vector<uint32_t>(uint32_t)>& next);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_
