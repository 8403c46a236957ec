// Strongly connected components of a directed graph.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace rollcall {

struct Components {
  std::vector<std::vector<uint32_t>> members;  // rising; a component comes behind those it leads to
  std::vector<uint32_t> of;  // by vertex: its index in `members`; kNoIndex if it was not reached
};

// The components that are reached from `roots`. Vertices are numbers below `vertices`; `next` is
// asked once for each that is reached. Linear.
Components FindComponents(uint32_t vertices, const std::vector<uint32_t>& roots,
                          const std::function<std::vector<uint32_t>(uint32_t)>& next);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_COMPONENTS_H_
