// The order of the detectors: each may rest on what those before it found.
#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

std::vector<Incident> FindIncidents(Analysis* analysis, std::vector<std::string>* notes) {
  std::vector<Incident> incidents;
  FindCallIncidents(analysis, &incidents, notes);
  Settle(analysis->trace, &analysis->graph);
  FindWaitIncidents(*analysis, &incidents);
  FindDeviceIncidents(*analysis, &incidents);
  FindStartIncidents(*analysis, &incidents);
  FindGroupIncidents(*analysis, &incidents);
  FindRejected(*analysis, &incidents);
  if (analysis->options.job_ended || !incidents.empty() || analysis->AnyEnded()) {
    FindUnevenMessages(*analysis, &incidents);
    FoldDeparturesAfterErrors(*analysis, &incidents);
  }
  FindDeaths(*analysis, &incidents);
  FindRejected(*analysis, &incidents);  // deaths that nobody waits for
  FindWindowIncidents(*analysis, &incidents);
  FindHashIncidents(*analysis, &incidents);
  return incidents;
}

}  // namespace rollcall
