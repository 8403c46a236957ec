// SPDX-License-Identifier: Apache-2.0
#include "shim/topology.h"

#include <cstdlib>

#include "proto/ring_format.h"

namespace rollcall::shim {

Topology::~Topology() { free(memory_); }

// Allocates twice the space, because the weights of a distributed graph have to be stored as well.
bool Topology::Allocate(int in, int out) {
  if (in < 0 || out < 0) return false;
  const size_t each = static_cast<size_t>(in) + static_cast<size_t>(out);
  memory_ = calloc(2 * each + 1, sizeof(int));
  if (memory_ == nullptr) return false;
  sources = static_cast<int*>(memory_);
  destinations = sources + in;
  indegree = in;
  outdegree = out;
  return true;
}

void FindTopology(const Library& library, uint64_t comm, int rank, Topology* out) {
  const Queries& query = library.query;
  const Abi& abi = library.abi;
  int kind = abi.undefined;
  if (query.Topo_test == nullptr || query.Topo_test(comm, &kind) != 0) return;
  if (kind == abi.cart && query.Cartdim_get != nullptr && query.Cart_shift != nullptr) {
    int dimensions = 0;
    if (query.Cartdim_get(comm, &dimensions) != 0 || !out->Allocate(2 * dimensions, 2 * dimensions))
      return;
    for (int d = 0; d < dimensions; ++d) {
      int below = 0, above = 0;
      if (query.Cart_shift(comm, d, 1, &below, &above) != 0) return;
      out->sources[2 * d] = out->destinations[2 * d] = below;
      out->sources[2 * d + 1] = out->destinations[2 * d + 1] = above;
    }
    out->flag = ring::kIsCartesian;
  } else if (kind == abi.graph && query.Graph_neighbors_count != nullptr &&
             query.Graph_neighbors != nullptr) {
    int count = 0;
    if (query.Graph_neighbors_count(comm, rank, &count) != 0 || !out->Allocate(count, count))
      return;
    if (query.Graph_neighbors(comm, rank, count, out->sources) != 0) return;
    for (int i = 0; i < count; ++i) out->destinations[i] = out->sources[i];
    out->flag = ring::kIsGraph;
  } else if (kind == abi.dist_graph && query.Dist_graph_neighbors_count != nullptr &&
             query.Dist_graph_neighbors != nullptr) {
    int in = 0, outward = 0, weighted = 0;
    if (query.Dist_graph_neighbors_count(comm, &in, &outward, &weighted) != 0 ||
        !out->Allocate(in, outward)) {
      return;
    }
    int* weights = out->destinations + outward;
    if (query.Dist_graph_neighbors(comm, in, out->sources, weights, outward, out->destinations,
                                   weights + in) != 0) {
      return;
    }
    out->flag = ring::kIsDistGraph;
  }
  for (int i = 0; i < out->indegree + out->outdegree; ++i) {  // the two arrays are one block
    if (out->sources[i] == abi.proc_null) out->sources[i] = ring::kProcNullPeer;
  }
}

}  // namespace rollcall::shim
