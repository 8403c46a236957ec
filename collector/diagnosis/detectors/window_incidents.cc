// SPDX-License-Identifier: Apache-2.0
// Finds waits in those synchronizations of a window that only some of its processes take part in
// (MPI 4.0, 12.5.2 to 12.5.4): post, start, complete, wait, lock, unlock, flush.
//
// The records do not show which rank has to act: they lack the group of a post or start, and a
// requested lock is not yet a held lock. So a hang cannot be derived from the wait-for graph. But
// if no rank is outside MPI, and nothing has moved for the time that makes a rank stalled, the job
// hangs in these calls, unless a rank has a thread that may be outside MPI, or waits for another
// job. A rank is named only if it alone keeps a lock that others wait for (window_locks.h).
#include <algorithm>
#include <map>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/window_locks.h"

namespace rollcall {
namespace {

// The call in which a rank waits for other ranks of the window; nullptr if there is none.
const Event* WaitsInWindow(const Analysis& analysis, uint32_t process) {
  const OpenCall* open = analysis.graph.processes[process].open;
  if (open == nullptr || open->event.member == kNoIndex) return nullptr;
  switch (analysis.Op(open->event)) {
    case Operation::kRput:  // these return a request and do not wait
    case Operation::kRget:
    case Operation::kRaccumulate:
    case Operation::kRget_accumulate:
      return nullptr;
    default:
      break;
  }
  const Kind kind = analysis.KindOf(open->event);
  return kind == Kind::kWindowSync ? &open->event : nullptr;
}

// Whether the process has been inside MPI for long, without another thread that could act, and
// waits only for ranks of this job.
bool CannotAnswer(const Analysis& analysis, uint32_t p) {
  const ProcessView& view = analysis.graph.processes[p];
  const Process& process = analysis.trace.processes[p];
  if (view.activity == Activity::kLeft) return true;
  const bool one_thread = process.thread_level >= 0 && process.thread_level <= 2;
  if (view.activity != Activity::kBlocked || view.open == nullptr || !one_thread) return false;
  if (!analysis.StoodStill(p) || NeedsOutsiders(analysis, view.open->event)) return false;
  if (WaitsInWindow(analysis, p) != nullptr) return true;
  // A wait without known dependencies may end by itself.
  return !view.dependencies.empty() &&
         std::ranges::none_of(view.dependencies, [&](const WaitDependency& dependency) {
           return dependency.event != nullptr && NeedsOutsiders(analysis, *dependency.event);
         });
}

bool NobodyCanAnswer(const Analysis& analysis, const World& world) {
  return HasAllTraces(world) && std::ranges::all_of(world.processes, [&](uint32_t p) {
           return CannotAnswer(analysis, p);
         });
}

}  // namespace

void FindWindowIncidents(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (std::ranges::any_of(*incidents, [](const Incident& incident) {
        return incident.hangs || incident.what == Incident::What::kDeath;
      })) {
    return;
  }
  for (const World& world : analysis.trace.worlds) {
    if (!NobodyCanAnswer(analysis, world)) continue;
    std::map<uint32_t, std::vector<uint32_t>> waiting;  // by window
    for (const uint32_t p : world.processes) {
      const Event* call = WaitsInWindow(analysis, p);
      if (call != nullptr) waiting[analysis.CommunicatorOf(*call)].push_back(p);
    }
    std::map<std::pair<uint32_t, Operation>, Incident> by_call;
    for (const uint32_t p : world.processes) {
      const Event* call = WaitsInWindow(analysis, p);
      if (call == nullptr) continue;
      const uint32_t window = analysis.CommunicatorOf(*call);
      const uint32_t holder = HolderOf(analysis, window, waiting[window]);
      // All ranks that wait for the holder share one finding, whatever their calls are.
      const Operation operation = holder == kNoIndex ? analysis.Op(*call) : Operation::kNone;
      Incident& incident = by_call[{window, operation}];
      if (holder != kNoIndex) {
        incident.deviating = {holder};
        incident.deviating_event = analysis.CurrentEvent(holder);
      }
      incident.what = Incident::What::kWindow;
      incident.hangs = true;
      incident.communicator = window;
      if (p == holder) continue;
      incident.agreeing.push_back(p);
      incident.agreeing_event = call;
    }
    for (auto& [place, incident] : by_call) incidents->push_back(std::move(incident));
  }
}

}  // namespace rollcall
