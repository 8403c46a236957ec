// Edges of a communicator's graph that only one of their ends lists: what the sender passes as a
// destination, the receiver has to pass as a source (MPI 4.0, 8.5.4).
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
  // If all other edges exist in both directions, and so tell which end is wrong: whether that is
  // `from`.
  std::optional<bool> from_is_odd;
};

// Edges of members whose lists are not on record are left out.
std::vector<OddEdge> FindOddEdges(const Trace& trace, const Communicator& communicator);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_NEIGHBORHOOD_H_
