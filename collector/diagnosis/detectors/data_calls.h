// The collectives of a communicator of whose data something was read.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/model/data.h"

namespace rollcall {

// What is on record of one member's part in a call; all null if nothing is. Owned by the trace.
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
  const Event* event = nullptr;         // of some member; all have its operation and reduction
  std::vector<MemberCallData> members;  // parallel to CommunicatorHistory::members

  // All members have a trace and a read input.
  bool HasAllInputs() const;
  const Arguments& Args(const Analysis& analysis) const { return analysis.Args(*event); }
  uint32_t ProcessOf(size_t member) const { return histories->members[member].process; }
  // The call path of a member's call, or start.
  uint32_t PathOf(size_t member) const;
};

// MPI_MIN, MPI_MAX, and those with a location.
bool IsMinOrMax(uint16_t reduce_op);

// Whether it is certain which calls belong together, and all members pass data to each other.
bool AreOfOneGroup(const Analysis& analysis, const CommunicatorHistory& histories);

// Calls `visit` for the calls in the order of their numbers, whose records match. Nothing
// unless AreOfOneGroup().
void VisitDataCalls(const Analysis& analysis, const CommunicatorHistory& histories,
                    const std::function<void(const DataCall&)>& visit);

// An incident at the call, of two lists of positions in `members`; the rest of it is as in
// Incident. `agreeing` may be empty.
Incident DataIncident(const DataCall& call, Incident::What what,
                      const std::vector<size_t>& deviating, const std::vector<size_t>& agreeing);

void FindNonFinite(const Analysis& analysis, std::vector<Incident>* incidents);
// Results that differ, and inputs that are the same, or were.
void FindDifferingData(const Analysis& analysis, const CommunicatorHistory& histories,
                       std::vector<Incident>* incidents);
void FindSameInputs(const Analysis& analysis, const CommunicatorHistory& histories,
                    std::vector<Incident>* incidents);
void FindReplicaDrift(const Analysis& analysis, std::vector<Incident>* incidents);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DATA_CALLS_H_
