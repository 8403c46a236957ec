// SPDX-License-Identifier: Apache-2.0
// Edges of a communicator's graph that only one of their ends lists. If a sender lists a rank as a
// destination, that rank has to list the sender as a source (MPI 4.0, 8.5.4).
#ifndef ROLLCALL_COLLECTOR_MATCHING_NEIGHBORHOOD_H_
#define ROLLCALL_COLLECTOR_MATCHING_NEIGHBORHOOD_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

struct OddEdge {
  int32_t from = 0;  // ranks in the communicator
  int32_t to = 0;
  bool from_lists = false;  // else `to` lists it
  // Whether `from` is the wrong end. Known only if all other edges exist in both directions.
  std::optional<bool> from_is_odd;
};

// Edges of members whose lists are not recorded are left out.
std::vector<OddEdge> FindOddEdges(const Trace& trace, const Communicator& communicator);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_NEIGHBORHOOD_H_
