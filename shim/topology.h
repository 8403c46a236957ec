// SPDX-License-Identifier: Apache-2.0
// The neighbours of this process in a communicator's topology. Neighborhood collectives exchange
// data with them, and their number is the length of the count arrays.
#ifndef ROLLCALL_SHIM_TOPOLOGY_H_
#define ROLLCALL_SHIM_TOPOLOGY_H_

#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim {

struct Topology {
  uint32_t flag = 0;       // ring::kIsCartesian, kIsGraph or kIsDistGraph; 0 if there is none
  int* sources = nullptr;  // in the order of the buffers (MPI 4.0, 8.6); may be ring::kProcNullPeer
  int* destinations = nullptr;
  int indegree = 0;
  int outdegree = 0;

  Topology() = default;
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

 private:
  friend void FindTopology(const Library& library, uint64_t comm, int rank, Topology* out);
  bool Allocate(int in, int out);
  void* memory_ = nullptr;
};

// Local queries only; allocates. `rank` is this process' rank in the communicator.
void FindTopology(const Library& library, uint64_t comm, int rank, Topology* out);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_TOPOLOGY_H_
