// Waits inside the synchronisation of a window that some of its processes take part in
// (MPI 4.0, 12.5.2 to 12.5.4): post, start, complete, wait, lock, unlock, flush.
//
// Whose turn it is, the records do not say: the group of a post or start is not in them, and a lock
// that was asked for is not yet a lock that is held. So nothing is inferred from who waits for
// whom. But where nobody is left outside of MPI, and for as long as makes a rank stalled nothing
// has moved, the calls are what the job hangs in.
#include <algorithm>
#include <map>
#include <utility>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/incident.h"

namespace rollcall {
namespace {

// Of nobody who could answer can be said that it comes yet.
bool AllWait(const Analysis& analysis, const World& world) {
  return std::all_of(world.processes.begin(), world.processes.end(), [&](uint32_t p) {
    if (p == kNoIndex) return false;
    const Activity activity = analysis.graph.processes[p].activity;
    if (activity == Activity::kLeft) return true;
    const bool long_enough = IdleNs(analysis, p) >= analysis.options.stall_after_ns;
    return activity == Activity::kBlocked && analysis.Still(p) &&
           (analysis.WasJudged(p) || long_enough);
  });
}

}  // namespace

void FindWindowIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (std::any_of(incidents->begin(), incidents->end(), [](const Incident& incident) {
        return incident.hangs || incident.what == Incident::What::kDeath;
      })) {
    return;
  }
  for (const World& world : analysis.trace.worlds) {
    if (!AllWait(analysis, world)) continue;
    std::map<std::pair<uint32_t, Operation>, Incident> by_call;
    for (const uint32_t p : world.processes) {
      const OpenCall* open = analysis.graph.processes[p].open;
      if (open == nullptr || open->event.membership == kNoIndex) continue;
      const Operation operation = analysis.Op(open->event);
      if (FindOperation(static_cast<uint16_t>(operation)).kind != Kind::kWindowSync) continue;
      const uint32_t window = analysis.trace.memberships[open->event.membership].communicator;
      Incident& incident = by_call[{window, operation}];
      incident.what = Incident::What::kWindow;
      incident.hangs = true;
      incident.communicator = window;
      incident.agreeing.push_back(p);
      incident.agreeing_event = &open->event;
    }
    for (auto& [call, incident] : by_call) incidents->push_back(std::move(incident));
  }
}

}  // namespace rollcall
