// SPDX-License-Identifier: Apache-2.0
// A job that was ended because it took too long, with no other explanation.
#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

void FindTimedOut(const Analysis& analysis, std::vector<Incident>* incidents) {
  Incident incident;
  incident.what = Incident::What::kTimedOut;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    if (analysis.trace.processes[p].phase == ring::Phase::kFinalized) continue;
    incident.deviating.push_back(p);
    incident.calls.push_back(analysis.CurrentEvent(p));
  }
  incident.tie = true;  // no rank is known to be wrong
  incidents->push_back(std::move(incident));
}

}  // namespace rollcall
