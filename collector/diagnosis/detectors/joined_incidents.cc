// SPDX-License-Identifier: Apache-2.0
// Finds jobs that hang together with the jobs that they spawned (MPI 4.0, 11.8).
//
// The two sides of the intercommunicator between two jobs are recorded as two communicators, and no
// record connects them. So it is not known which ranks wait for which across the intercommunicator.
// But if no rank of any of the jobs is outside MPI, and none has moved for the time that makes a
// rank stalled, a message for which a rank of one job waits will not come from another job. Nothing
// is reported if one of the communicators leads to a job that was started separately
// (MPI_Comm_connect): that job may have no trace.
#include <algorithm>
#include <map>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/waiting.h"

namespace rollcall {
namespace {

bool WasMadeBySpawning(const Analysis& analysis, uint32_t communicator) {
  const std::vector<Communicator>& all = analysis.trace.communicators;
  for (size_t i = 0; communicator != kNoIndex && i < all.size(); ++i) {
    switch (all[communicator].created_by) {
      case Operation::kComm_spawn:
      case Operation::kComm_spawn_multiple:
      case Operation::kComm_get_parent:
        return true;
      default:
        communicator = all[communicator].parent;
    }
  }
  return false;
}

bool LeadsOutside(const Analysis& analysis, const Event& call) {
  return HasOutsiders(analysis.trace.communicators[analysis.CommunicatorOf(call)]);
}

// Whether the process has been inside MPI for long, without another thread that could act, and does
// not wait for a job that was started separately.
bool CannotAct(const Analysis& analysis, uint32_t p) {
  const std::vector<const Event*> calls = AwaitedCalls(analysis, p);
  return IsInsideForLong(analysis, p) && !calls.empty() &&
         std::ranges::all_of(calls, [&](const Event* call) {
           return !LeadsOutside(analysis, *call) ||
                  WasMadeBySpawning(analysis, analysis.CommunicatorOf(*call));
         });
}

}  // namespace

void FindJoinedIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  const std::vector<World>& worlds = analysis.trace.worlds;
  if (!incidents->empty() || worlds.size() < 2) return;
  if (!std::ranges::all_of(worlds, HasAllTraces)) return;
  std::map<uint32_t, Incident> by_communicator;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    if (!CannotAct(analysis, p)) return;
    for (const Event* call : AwaitedCalls(analysis, p)) {
      if (GroupOf(analysis.KindOf(*call)) != CallGroup::kP2p || !LeadsOutside(analysis, *call)) {
        continue;
      }
      Incident& incident = by_communicator[analysis.CommunicatorOf(*call)];
      incident.what = Incident::What::kJoined;
      incident.hangs = true;
      incident.communicator = analysis.CommunicatorOf(*call);
      incident.agreeing.push_back(p);
      if (incident.agreeing_event == nullptr) incident.agreeing_event = call;
      break;
    }
  }
  for (auto& [communicator, incident] : by_communicator) incidents->push_back(std::move(incident));
}

}  // namespace rollcall
