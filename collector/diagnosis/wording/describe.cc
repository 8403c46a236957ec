// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/diagnosis/certainty/doubts.h"
#include "collector/diagnosis/certainty/hang.h"
#include "collector/diagnosis/detectors/waiting.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/python_notes.h"
#include "collector/diagnosis/wording/sites.h"
#include "collector/diagnosis/wording/waiting_set.h"

namespace rollcall {
namespace {

// Adds a note that names the device of a rank that is one of several devices of its process.
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

bool BufferHides(const Analysis& analysis, const Incident& incident) {
  return std::ranges::any_of(incident.deviating, [&](uint32_t p) {
    const std::vector<WaitDependency>& dependencies = analysis.graph.processes[p].dependencies;
    return std::ranges::any_of(dependencies, [&dependencies](const WaitDependency& dependency) {
      // A Sendrecv that also waits for its receive keeps waiting even with a
      // buffer.
      const bool receives_too =
          std::ranges::any_of(dependencies, [&dependency](const WaitDependency& other) {
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
  if (event != nullptr) {
    finding.operation = analysis.Op(*event);
    finding.called = CalledName(analysis, *event);
  }
  const std::vector<uint32_t> waiting = WaitingFor(analysis, incident);
  finding.waiting = analysis.RanksOf(waiting);
  if (!incident.tie) finding.culprits = analysis.RanksOf(incident.deviating);
  finding.culprit_gone = AnyGone(analysis.trace, incident);
  const uint32_t any = !incident.deviating.empty()  ? incident.deviating.front()
                       : !incident.agreeing.empty() ? incident.agreeing.front()
                                                    : kNoIndex;
  if (any != kNoIndex) finding.world = analysis.trace.processes[any].world;
  finding.certainty = finding.kind_certainty = HangCertainty({analysis, incident, kind, waiting});
  if (incident.hangs) AddWaitingSet(analysis, WaitingSet(analysis, incident, waiting), &finding);

  const bool at_sides = incident.Is(Trait::kByNumber) || waiting.empty();
  std::vector<uint32_t> scene =
      at_sides && !incident.Is(Trait::kOfMessages) ? incident.agreeing : waiting;
  if (incident.tie) scene = Without(std::move(scene), incident.deviating);
  finding.sites = DescribeSites(analysis, incident, Without(std::move(scene), {}));
  AddDoubts(analysis, incident, &finding);
  AddDeviceNotes(analysis, incident, &finding);
  AddContextNotes(analysis, &finding);
  return finding;
}

}  // namespace rollcall
