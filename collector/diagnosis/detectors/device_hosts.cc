// SPDX-License-Identifier: Apache-2.0
// Finds hosts that have not enqueued an operation that other devices wait for.
#include <algorithm>
#include <map>
#include <utility>

#include "collector/diagnosis/detectors/device_finder.h"

namespace rollcall {
namespace {

using What = Incident::What;

class HostFinder : DeviceFinder {
 public:
  using DeviceFinder::DeviceFinder;

  // Hosts that stopped in the same place are one finding.
  void AddHosts(const std::vector<uint32_t>& found) {
    std::vector<bool> wanted(processes_, false);
    for (const uint32_t p : found) wanted[p] = true;
    const auto held_up = [&](const DeviceOperation& operation) {
      std::vector<uint32_t> result;
      for (const auto* list : {&operation.missing, &operation.unknown}) {
        for (const uint32_t p : *list) {
          if (wanted[p]) result.push_back(p);
        }
      }
      return result;
    };
    while (true) {
      const DeviceOperation* best = nullptr;
      std::vector<uint32_t> best_hosts;
      for (const DeviceOperation& operation : waits_.operations) {
        if (IsExplained(operation) || IsRecent(operation)) continue;
        std::vector<uint32_t> hosts = held_up(operation);
        if (hosts.empty()) continue;
        if (best == nullptr || std::pair(hosts.size(), operation.first.size()) >
                                   std::pair(best_hosts.size(), best->first.size())) {
          best = &operation;
          best_hosts = std::move(hosts);
        }
      }
      if (best == nullptr) return;
      for (const uint32_t p : best_hosts) wanted[p] = false;
      AddHostsOf(*best, std::move(best_hosts));
    }
  }

  // A lagging host that has nothing open is a cause as well. Perhaps no rank waits for it yet,
  // because the others still wait for another rank.
  void AddIdleHosts() {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> idle;
    std::vector<bool> known(processes_, false);
    for (const Incident& incident : incidents_) {
      for (const uint32_t p : incident.deviating) known[p] = true;
    }
    for (size_t c = 0; c < analysis_.histories.size(); ++c) {
      const CommunicatorHistory& histories = analysis_.histories[c];
      for (const MemberHistory& history : histories.members) {
        const Process& process = analysis_.trace.processes[history.process];
        if (!process.device || OldestHandedOver(analysis_.trace, process) != nullptr ||
            !history.member->counted)
          continue;
        if (known[history.process] || history.entered >= histories.highest) continue;
        if (MayWaitForGraph(history.process)) continue;
        if (analysis_.graph.processes[history.process].activity != Activity::kRunning) continue;
        idle[{static_cast<uint32_t>(c), history.entered + 1}].push_back(history.process);
      }
    }
    for (auto& [key, hosts] : idle) {
      std::erase_if(hosts, [&](uint32_t p) { return known[p]; });
      DeviceOperation operation;
      operation.communicator = key.first;
      operation.sequence = key.second;
      for (const MemberHistory& history : analysis_.histories[key.first].members) {
        const Event* event = history.At(key.second);
        if (event == nullptr || event->end_ns != kNoTime) continue;
        operation.first.push_back(history.process);
        operation.event = event;
      }
      if (hosts.empty() || operation.event == nullptr || IsExplained(operation) ||
          IsRecent(operation.first.back(), *operation.event)) {
        continue;
      }
      for (const uint32_t p : hosts) known[p] = true;
      AddHostsOf(operation, std::move(hosts));
    }
  }

 private:
  void AddHostsOf(const DeviceOperation& operation, std::vector<uint32_t> hosts) {
    std::vector<uint32_t> there = operation.first;
    there.insert(there.end(), operation.behind.begin(), operation.behind.end());
    Incident incident = Make(What::kNotArrived, operation);
    incident.agreeing = there;
    incident.deviating = std::move(hosts);
    incident.deviating_event = analysis_.LastCall(incident.deviating.front());
    if (incident.deviating.size() > there.size() && !operation.IsMessage() &&
        !Expected(operation, incident.deviating.front())) {
      // If most ranks have not made such a call and few wait in it, the few deviate.
      incident.what = What::kLeft;
      std::swap(incident.deviating, incident.agreeing);
      std::swap(incident.deviating_event, incident.agreeing_event);
    }
    incidents_.push_back(std::move(incident));
  }

  // Whether the process made this call before, after a call like its last one. True if it never
  // made a call like its last one before.
  bool Expected(const DeviceOperation& operation, uint32_t process) const {
    const MemberHistory* history = analysis_.HistoryOf(operation.communicator, process);
    if (history == nullptr || history->member->events.size() < 2) return true;
    const std::vector<Event>& events = history->member->events;
    const auto same = [&](const Event& a, const Event& b) {
      return analysis_.Site(a) == analysis_.Site(b);
    };
    bool made_before = false;
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      if (!same(events[i], events.back())) continue;
      made_before = true;
      if (same(events[i + 1], *operation.event)) return true;
    }
    return !made_before;
  }
};

}  // namespace

void FindDeviceHosts(const Analysis& analysis, const std::vector<uint32_t>& hosts,
                     std::vector<Incident>* incidents) {
  HostFinder finder(analysis, incidents);
  finder.AddHosts(hosts);
  finder.AddIdleHosts();
}

}  // namespace rollcall
