// A job that was ended for taking too long, of which nothing else explains why.
#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

void FindTimedOut(const Analysis& analysis, std::vector<Incident>* incidents) {
  Incident incident;
  incident.what = Incident::What::kTimedOut;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    if (analysis.trace.processes[p].phase == ring::Phase::kFinalized) continue;
    incident.deviating.push_back(p);
    incident.calls.push_back(analysis.Stands(p));
  }
  incident.tie = true;  // nobody is wrong for all that is known
  incidents->push_back(std::move(incident));
}

}  // namespace rollcall
