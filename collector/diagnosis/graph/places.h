// SPDX-License-Identifier: Apache-2.0
// Groups the ranks of a job whose calls are not recorded by their places.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_PLACES_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_PLACES_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/graph/variables.h"
#include "collector/matching/call_site.h"
#include "collector/model/trace.h"

namespace rollcall {

enum class Position : uint8_t {
  kWaiting,     // in a call that other ranks have to complete, and not moving
  kOutside,     // outside every such call and not moving; or stopped
  kMoving,      // moving, or able to move at any time
  kGone,        // its program has ended
  kUnreadable,  // its stack could not be taken
};

// By process; every process has a place.
std::vector<Position> PositionsOf(const Trace& trace);

// Processes that wait at the same place, increasing. Refers to the trace.
struct PlaceGroup {
  std::vector<uint32_t> members;
  const Place* place = nullptr;  // of the first one
  bool of_collective = false;    // one of them waits for a nonblocking collective

  bool Finalizes() const { return place->meaning.operation == Operation::kFinalize; }
};

// Each process is in exactly one of the lists. Refers to the trace, which must outlive it.
struct Places {
  std::vector<PlaceGroup> waiting;  // the largest first
  std::vector<uint32_t> outside;
  std::vector<uint32_t> moving;
  std::vector<uint32_t> gone;
  std::vector<uint32_t> unreadable;
  std::vector<int32_t> missing;  // ranks of the job without a process
  std::vector<ComparedVariable> variables;

  // The members of all waiting groups, increasing.
  std::vector<uint32_t> Waiting() const;
};

// Empty if the trace has records.
Places BuildPlaces(const Trace& trace, const CallSites& sites);

// Whether each of `processes` waits for a message of one of `processes`. The library's objects show
// which rank a process waits for.
bool AwaitEachOther(const Trace& trace, const std::vector<uint32_t>& processes);
// Whether the call waits for point-to-point messages, not for all members.
bool WaitsForMessages(const PlaceGroup& group);
// Whether a rank waits for another rank to release a lock or to expose its memory.
bool WaitsForWindow(const PlaceGroup& group);
// Whether no rank leaves the call before all ranks have entered it.
bool BlocksUntilAllEntered(const PlaceGroup& group);
// Whether one of the two ranks makes its call in each iteration of a loop, and the other rank makes
// its call outside of that loop, in the program's normal course.
bool AreApartByLoop(const CallSites& sites, const Place& a, const Place& b);
// Whether the two calls are known to wait on different communicators.
bool AreApart(const LibraryCall& a, const LibraryCall& b);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_PLACES_H_
