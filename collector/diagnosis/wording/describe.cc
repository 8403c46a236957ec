#include "collector/diagnosis/wording/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/diagnosis/wording/certainty.h"
#include "collector/diagnosis/wording/python_notes.h"
#include "collector/diagnosis/wording/sites.h"
#include "collector/diagnosis/wording/waiting_set.h"

namespace rollcall {
namespace {

using What = Incident::What;

// Processes that cannot continue without one of `these`.
std::vector<uint32_t> DirectWaiters(const Analysis& analysis, const std::vector<uint32_t>& these) {
  std::vector<bool> wanted(analysis.graph.processes.size(), false);
  for (const uint32_t p : these) wanted[p] = true;
  const auto is_wanted = [&wanted](uint32_t p) { return wanted[p]; };
  std::vector<uint32_t> waiters;
  for (const CollectiveNode& node : analysis.graph.nodes) {
    if (std::any_of(node.missing.begin(), node.missing.end(), is_wanted)) {
      waiters.insert(waiters.end(), node.inside.begin(), node.inside.end());
    }
  }
  std::vector<ptrdiff_t> wanted_of_any;
  for (const AnySourceWait& any_source : analysis.graph.any_source) {
    wanted_of_any.push_back(
        std::count_if(any_source.members.begin(), any_source.members.end(), is_wanted));
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

// Adds those inside a collective that a dead process had entered: it may have died with their data.
void AddThoseWithin(const Analysis& analysis, const std::vector<uint32_t>& dead,
                    std::vector<uint32_t>* waiting) {
  for (const CollectiveNode& node : analysis.graph.nodes) {
    const std::vector<uint32_t> there = WhoEntered(analysis, node);
    const bool entered =
        std::any_of(there.begin(), there.end(), [&](uint32_t p) { return Contains(dead, p); });
    if (entered) waiting->insert(waiting->end(), node.inside.begin(), node.inside.end());
  }
}

std::vector<uint32_t> WaitingFor(const Analysis& analysis, const Incident& incident) {
  std::vector<uint32_t> waiting;
  const auto add_those_who_wait = [&](const std::vector<uint32_t>& side) {
    for (const uint32_t p : side) {
      if (analysis.Waits(p)) waiting.push_back(p);
    }
  };
  if (!incident.hangs) return waiting;
  if (incident.what == What::kCalls || incident.what == What::kShift) {
    for (const MemberHistory& history : analysis.histories[incident.communicator].members) {
      if (analysis.Waits(history.process)) waiting.push_back(history.process);
    }
  } else {
    add_those_who_wait(incident.agreeing);
    const std::vector<uint32_t> direct = DirectWaiters(analysis, incident.deviating);
    waiting.insert(waiting.end(), direct.begin(), direct.end());
    if (incident.what == What::kDeath) AddThoseWithin(analysis, incident.deviating, &waiting);
  }
  if (incident.tie) {
    add_those_who_wait(incident.deviating);
    return Without(std::move(waiting), {});
  }
  return Without(std::move(waiting), incident.deviating);
}

// Notes the device of a rank that is one of several devices of its process.
void AddDeviceNotes(const Analysis& analysis, const Incident& incident, Finding* finding) {
  if (incident.tie) return;
  for (const uint32_t p : incident.deviating) {
    const Process& process = analysis.trace.processes[p];
    if (process.host_process == kNoIndex) continue;
    const std::string device = process.device_number < 0
                                   ? "one of the devices"
                                   : fmt::format("device {}", process.device_number);
    finding->notes.push_back(fmt::format("rank {} is {} of process {} on {}", process.rank, device,
                                         process.pid, process.host));
  }
}

}  // namespace

void LimitKindCertainty(Certainty limit, Finding* finding) {
  finding->kind_certainty = std::max(finding->kind_certainty, limit);
}

bool BufferHides(const Analysis& analysis, const Incident& incident) {
  return std::any_of(incident.deviating.begin(), incident.deviating.end(), [&](uint32_t p) {
    const std::vector<WaitDependency>& dependencies = analysis.graph.processes[p].dependencies;
    return std::any_of(dependencies.begin(), dependencies.end(),
                       [&dependencies](const WaitDependency& dependency) {
                         // A Sendrecv that also waits for its receive keeps waiting even with a
                         // buffer.
                         const bool receives_too =
                             std::any_of(dependencies.begin(), dependencies.end(),
                                         [&dependency](const WaitDependency& other) {
                                           return other.event == dependency.event && !other.sends;
                                         });
                         return dependency.sends && !dependency.strict && !receives_too;
                       });
  });
}

Finding Draft(const Analysis& analysis, const Incident& incident, VerdictKind kind,
              bool deviating_operation) {
  Finding finding;
  finding.kind = kind;
  finding.hangs = incident.hangs;
  finding.communicator = incident.communicator;
  finding.sequence = incident.sequence;
  const Event* event = deviating_operation ? incident.deviating_event : incident.agreeing_event;
  if (event == nullptr) event = incident.deviating_event;
  if (event != nullptr) finding.operation = analysis.Op(*event);
  const std::vector<uint32_t> waiting = WaitingFor(analysis, incident);
  finding.waiting = analysis.RanksOf(waiting);
  if (!incident.tie) {
    finding.culprits = analysis.RanksOf(incident.deviating);
    finding.culprit_gone =
        std::any_of(incident.deviating.begin(), incident.deviating.end(),
                    [&](uint32_t p) { return IsGone(analysis.trace.processes[p]); });
  }
  const uint32_t any = !incident.deviating.empty()  ? incident.deviating.front()
                       : !incident.agreeing.empty() ? incident.agreeing.front()
                                                    : kNoIndex;
  if (any != kNoIndex) finding.world = analysis.trace.processes[any].world;
  finding.certainty = finding.kind_certainty = CertaintyOf(analysis, incident, waiting);
  AddWaitingSet(analysis, incident, waiting, &finding);

  const bool by_number = incident.what == What::kCalls || incident.what == What::kShift;
  std::vector<uint32_t> scene = by_number || waiting.empty() ? incident.agreeing : waiting;
  if (incident.what == What::kMessage || incident.what == What::kMessageSize ||
      incident.what == What::kUnreceived) {
    scene = waiting;
  }
  if (incident.tie) scene = Without(std::move(scene), incident.deviating);
  finding.sites = DescribeSites(analysis, incident, Without(std::move(scene), {}));
  AddDoubts(analysis, incident, &finding);
  AddDeviceNotes(analysis, incident, &finding);
  AddContextNotes(analysis, &finding);
  return finding;
}

}  // namespace rollcall
