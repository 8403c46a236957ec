// SPDX-License-Identifier: Apache-2.0
// The order of the detectors: each may depend on the incidents of earlier ones.
#include <algorithm>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

bool Incident::Is(Trait trait) const {
  using enum Trait;
  constexpr Trait kTraits[] = {
#define INCIDENT(identifier, details, traits) traits,
#include "collector/diagnosis/detectors/incidents.def"
#undef INCIDENT
  };
  const auto own = static_cast<uint16_t>(kTraits[static_cast<size_t>(what)]);
  return (own & static_cast<uint16_t>(trait)) != 0;
}

bool IsFact(const Analysis& analysis, const Incident& incident) {
  return incident.Is(Trait::kFact) &&
         (incident.what != Incident::What::kRejected || AnyGone(analysis.trace, incident));
}

bool AnyGone(const Trace& trace, const Incident& incident) {
  // For cores, the end that a core shows counts: a watchdog may have ended all ranks.
  const auto gone = [&trace](uint32_t p) {
    const Process& process = trace.processes[p];
    return process.place ? process.place->gone : IsGone(process);
  };
  return !incident.tie && std::ranges::any_of(incident.deviating, gone);
}

AnalyzedTrace Analyze(const Trace& trace, const DiagnoseOptions& options) {
  AlignedTrace aligned(trace, options);
  CallIncidents calls = FindCallIncidents(aligned);
  return {Analysis(std::move(aligned), calls.mismatched), std::move(calls.incidents),
          std::move(calls.notes)};
}

std::vector<Incident> FindIncidents(const Analysis& analysis, std::vector<Incident> incidents) {
  if (!analysis.trace.HasRecords()) {
    FindPlaceIncidents(analysis, &incidents);
    FindExits(analysis, &incidents);
    return incidents;
  }
  FindNeighborhoods(analysis, &incidents);
  FindWaitIncidents(analysis, &incidents);
  FindDeviceIncidents(analysis, &incidents);
  FindStartIncidents(analysis, &incidents);
  FindGroupIncidents(analysis, &incidents);
  FindRejected(analysis, &incidents);
  if (analysis.options.job_ended || !incidents.empty() || analysis.AnyEnded()) {
    FindUnevenMessages(analysis, &incidents);
    FoldDeparturesAfterErrors(analysis, &incidents);
  }
  FindDeaths(analysis, &incidents);
  FindRejected(analysis, &incidents);  // this time for deaths that no rank waits for
  FindWindowIncidents(analysis, &incidents);
  FindJoinedIncidents(analysis, &incidents);
  FindTakenMessages(analysis, &incidents);
  FindHashIncidents(analysis, &incidents);
  FindExits(analysis, &incidents);
  return incidents;
}

}  // namespace rollcall
