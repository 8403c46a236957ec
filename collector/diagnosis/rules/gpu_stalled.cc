// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/gpu-stalled.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeGpuStalled(const Analysis& analysis, const Incident& incident,
                                       const Divergence&) {
  if (incident.what != Incident::What::kDeviceLag) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kGpuStalled);
  if (finding.certainty == Certainty::kSuspected) {
    finding.notes.emplace_back(
        "other work on the streams is not recorded: a long kernel in front of it looks the same");
  }
  const std::string call = DeviceCallText(analysis, incident, *incident.deviating_event);
  const std::vector<int32_t> others = analysis.RanksOf(incident.agreeing);
  bool done = true;
  for (const uint32_t p : incident.agreeing) {
    const MemberHistory* history = analysis.HistoryOf(incident.communicator, p);
    const Event* event = history == nullptr ? nullptr : history->At(incident.sequence);
    done &= event == nullptr || event->end_ns != kNoTime;
  }
  const bool one = finding.culprits.size() == 1;
  finding.title = fmt::format("the GPU{} of {} {} stalled: {} is {} on {}, {} {}", one ? "" : "s",
                              RanksPhrase(finding.culprits), one ? "is" : "are", call,
                              done ? "complete" : "running",
                              others.empty() ? "the other side" : RanksPhrase(others),
                              done ? "but not on" : "and has not begun on", one ? "it" : "them");
  finding.why = done ? fmt::format(
                           "it completes only after all ranks have begun it: {} not complete "
                           "what {} began",
                           one ? "this GPU does" : "these GPUs do", one ? "it" : "they")
                     : "every member has enqueued it and has no older operation pending";
  return finding;
}

}  // namespace rollcall
