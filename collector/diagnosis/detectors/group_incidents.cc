// SPDX-License-Identifier: Apache-2.0
// Finds group calls that do not balance, if the records alone show the fault. FindDeviceIncidents()
// finds a rank that delays others by an operation in its open group.
#include <algorithm>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

// Whether the process will not close the group any more.
bool IsOver(const Process& process) {
  return process.phase >= ring::Phase::kFinalizing ||
         (process.end.how == ProcessEnd::How::kExited && process.end.status == 0);
}

bool IsUnbalanced(const Process& process) {
  return std::ranges::any_of(process.threads, [&](const Thread& thread) {
    return thread.group.stray_ends > 0 ||
           (thread.group.depth > 0 && (thread.ended || IsOver(process)));
  });
}

}  // namespace

void FindGroupIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  Incident incident;
  incident.what = Incident::What::kGroup;
  for (uint32_t p = 0; p < analysis.trace.processes.size(); ++p) {
    (IsUnbalanced(analysis.trace.processes[p]) ? incident.deviating : incident.agreeing)
        .push_back(p);
  }
  if (!incident.deviating.empty()) incidents->push_back(std::move(incident));
}

}  // namespace rollcall
