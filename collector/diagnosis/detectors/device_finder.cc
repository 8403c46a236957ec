// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/device_finder.h"

#include <algorithm>

namespace rollcall {

DeviceFinder::DeviceFinder(const Analysis& analysis, std::vector<Incident>* incidents)
    : analysis_(analysis),
      waits_(analysis.device),
      incidents_(*incidents),
      processes_(static_cast<uint32_t>(analysis.trace.processes.size())) {
  // A live observer had waited long enough if it took a stack, or if rollcall ended the process.
  for (uint32_t p = 0; p < processes_; ++p) {
    was_judged_ |= analysis_.WasJudged(p) || analysis_.WasLookedInto(p);
  }
}

bool DeviceFinder::IsExplained(const DeviceOperation& operation) const {
  const bool uneven = std::ranges::any_of(waits_.uneven, [&operation](const DeviceUneven& message) {
    return operation.IsMessage() && operation.communicator == message.communicator &&
           operation.sender == message.sender && operation.receiver == message.receiver &&
           operation.nth >= message.nth;
  });
  return uneven || !operation.judged ||
         (operation.sequence != 0 &&
          Explained(incidents_, operation.communicator, operation.sequence));
}

bool DeviceFinder::IsRecent(uint32_t process, const Event& event) const {
  const int64_t own_ns = analysis_.trace.processes[process].taken_at_ns;
  const int64_t taken_ns = own_ns != kNoTime ? own_ns : analysis_.trace.taken_at_ns;
  if (was_judged_) return false;
  if (taken_ns != kNoTime && event.start_ns == kNoTime) return !analysis_.options.job_ended;
  return taken_ns != kNoTime && event.start_ns != kNoTime && taken_ns >= event.start_ns &&
         taken_ns - event.start_ns < analysis_.options.stall_after_ns;
}

bool DeviceFinder::IsRecent(const DeviceOperation& operation) const {
  for (const uint32_t p : operation.first) {
    if (IsRecent(p, OldestHandedOver(analysis_.trace, analysis_.trace.processes[p])->event))
      return true;
  }
  return false;
}

bool DeviceFinder::HostWaits(uint32_t p) const {
  const Process& process = analysis_.trace.processes[p];
  if (!process.quiet) return false;
  const auto waits = [this](uint32_t q) {
    const OpenCall* open = analysis_.graph.processes[q].open;
    return open != nullptr && analysis_.KindOf(open->event) == Kind::kHostWait;
  };
  return waits(p) || std::ranges::any_of(process.held_up_by, waits);
}

bool DeviceFinder::MayWaitForGraph(uint32_t p) const {
  const OpenCall* open = analysis_.graph.processes[p].open;
  return analysis_.trace.processes[p].graphs && open != nullptr &&
         analysis_.KindOf(open->event) == Kind::kHostWait;
}

bool DeviceFinder::MayMove(const DeviceOperation& operation) const {
  const bool all_wait =
      std::ranges::all_of(operation.first, [this](uint32_t p) { return HostWaits(p); });
  return !(all_wait && !operation.first.empty()) && IsRecent(operation);
}

Incident DeviceFinder::Make(Incident::What what, const DeviceOperation& operation) const {
  Incident incident;
  incident.what = what;
  incident.communicator = operation.communicator;
  incident.sequence = operation.sequence;
  incident.hangs = true;
  incident.agreeing_event = operation.event;
  return incident;
}

}  // namespace rollcall
