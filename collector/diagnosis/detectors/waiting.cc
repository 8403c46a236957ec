// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/waiting.h"

#include <algorithm>
#include <utility>

namespace rollcall {
namespace {

// Processes whose wait needs one of `these`.
std::vector<uint32_t> DirectWaiters(const Analysis& analysis, const std::vector<uint32_t>& these) {
  std::vector<bool> wanted(analysis.graph.processes.size(), false);
  for (const uint32_t p : these) wanted[p] = true;
  const auto is_wanted = [&wanted](uint32_t p) { return wanted[p]; };
  std::vector<uint32_t> waiters;
  for (const CollectiveNode& node : analysis.graph.nodes) {
    if (std::ranges::any_of(node.missing, is_wanted)) {
      waiters.insert(waiters.end(), node.inside.begin(), node.inside.end());
    }
  }
  std::vector<ptrdiff_t> wanted_of_any;
  for (const AnySourceWait& any_source : analysis.graph.any_source) {
    wanted_of_any.push_back(std::ranges::count_if(any_source.members, is_wanted));
  }
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    for (const WaitDependency& dependency : analysis.graph.processes[p].dependencies) {
      const bool others =
          dependency.any_source != kNoIndex &&
          wanted_of_any[dependency.any_source] >
              (is_wanted(p) && !analysis.graph.any_source[dependency.any_source].other_group);
      if (others || (dependency.process != kNoIndex && is_wanted(dependency.process)))
        waiters.push_back(p);
    }
  }
  return waiters;
}

// Adds the processes inside a collective that a dead process had entered: the dead process may have
// held data that they need.
void AddThoseWithin(const Analysis& analysis, const std::vector<uint32_t>& dead,
                    std::vector<uint32_t>* waiting) {
  for (const CollectiveNode& node : analysis.graph.nodes) {
    const std::vector<uint32_t> there = WhoEntered(analysis, node);
    const bool entered = std::ranges::any_of(there, [&](uint32_t p) { return Contains(dead, p); });
    if (entered) waiting->insert(waiting->end(), node.inside.begin(), node.inside.end());
  }
}

}  // namespace

std::vector<const Event*> AwaitedCalls(const Analysis& analysis, uint32_t process) {
  const OpenCall* open = analysis.graph.processes[process].open;
  if (open == nullptr) return {};
  if (open->event.member != kNoIndex) return {&open->event};
  std::vector<const Event*> calls;
  for (const OpenRequest& request : analysis.trace.processes[process].open_requests) {
    const bool active = request.state == ring::RequestState::kActive && !request.cancelled;
    if (active && request.event.member != kNoIndex && Contains(open->requests, request.uid)) {
      calls.push_back(&request.event);
    }
  }
  return calls;
}

bool IsInsideForLong(const Analysis& analysis, uint32_t process) {
  const Process& of = analysis.trace.processes[process];
  const bool one_thread = of.thread_level >= 0 && of.thread_level <= 2;
  if (!one_thread && of.other_threads != OtherThreads::kWait) return false;
  const Activity activity = analysis.graph.processes[process].activity;
  return (activity == Activity::kBlocked || activity == Activity::kLeft) &&
         analysis.StoodStill(process);
}

std::vector<uint32_t> WaitingFor(const Analysis& analysis, const Incident& incident) {
  std::vector<uint32_t> waiting;
  const auto add_those_who_wait = [&](const std::vector<uint32_t>& side) {
    for (const uint32_t p : side) {
      if (analysis.Waits(p)) waiting.push_back(p);
    }
  };
  if (!incident.hangs) return waiting;
  if (incident.Is(Trait::kByNumber)) {
    for (const MemberHistory& history : analysis.histories[incident.communicator].members) {
      if (analysis.Waits(history.process)) waiting.push_back(history.process);
    }
  } else {
    add_those_who_wait(incident.agreeing);
    const std::vector<uint32_t> direct = DirectWaiters(analysis, incident.deviating);
    waiting.insert(waiting.end(), direct.begin(), direct.end());
    if (incident.what == Incident::What::kDeath)
      AddThoseWithin(analysis, incident.deviating, &waiting);
  }
  if (incident.tie) {
    add_those_who_wait(incident.deviating);
    return Without(std::move(waiting), {});
  }
  return Without(std::move(waiting), incident.deviating);
}

std::vector<uint32_t> WaitingSet(const Analysis& analysis, const Incident& incident,
                                 std::vector<uint32_t> waiting) {
  for (const uint32_t process : incident.deviating) {
    if (!incident.Is(Trait::kByNumber) && analysis.Waits(process)) waiting.push_back(process);
  }
  return waiting;
}

bool AllQuiet(const Trace& trace, const std::vector<uint32_t>& processes) {
  return std::ranges::all_of(processes,
                             [&](uint32_t process) { return trace.processes[process].quiet; });
}

bool StoodStill(const Analysis& analysis, const Incident& incident) {
  return AllQuiet(analysis.trace, WaitingSet(analysis, incident, WaitingFor(analysis, incident)));
}

}  // namespace rollcall
