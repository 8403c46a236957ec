// SPDX-License-Identifier: Apache-2.0
// The collectives of a communicator whose data was read at least in part.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/model/data.h"

namespace rollcall {

// The records of one member's part in a call; nullptr for those that are missing. Owned by the
// trace.
struct MemberCallData {
  const Event* event = nullptr;
  const DataRead* input = nullptr;
  const DataRead* result = nullptr;
  const BlockHashes* input_blocks = nullptr;
  const BlockHashes* result_blocks = nullptr;
};

struct DataCall {
  const CommunicatorHistory* histories = nullptr;
  uint64_t sequence = 0;
  uint32_t start = 0;                   // as Incident::start
  const Event* event = nullptr;         // of one member; operation and reduction are equal on all
  std::vector<MemberCallData> members;  // parallel to CommunicatorHistory::members

  // Whether all members have a trace and an input that was read.
  bool HasAllInputs() const;
  const Arguments& Args(const Analysis& analysis) const { return analysis.Args(*event); }
  uint32_t ProcessOf(size_t member) const { return histories->members[member].process; }
  // The call path of a member's call, or of its start.
  uint32_t PathOf(size_t member) const;
};

// MPI_MIN, MPI_MAX, and those with a location.
bool IsMinOrMax(uint16_t reduce_op);

// Whether it is certain which calls belong together, and all members pass data to each other.
bool AreOfOneGroup(const Analysis& analysis, const CommunicatorHistory& histories);

// Calls `visit` for the calls whose records match, in the order of their numbers. Does nothing
// unless AreOfOneGroup().
void VisitDataCalls(const Analysis& analysis, const CommunicatorHistory& histories,
                    const std::function<void(const DataCall&)>& visit);

// An incident at the call. The two sides are positions in `members`; `agreeing` may be empty. Other
// fields keep their defaults.
Incident DataIncident(const DataCall& call, Incident::What what,
                      const std::vector<size_t>& deviating, const std::vector<size_t>& agreeing);

void FindNonFinite(const Analysis& analysis, std::vector<Incident>* incidents);
// Finds results that differ.
void FindDifferingData(const Analysis& analysis, const CommunicatorHistory& histories,
                       std::vector<Incident>* incidents);
// Finds inputs that are the same on all members, or were.
void FindSameInputs(const Analysis& analysis, const CommunicatorHistory& histories,
                    std::vector<Incident>* incidents);
void FindReplicaDrift(const Analysis& analysis, std::vector<Incident>* incidents);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_
