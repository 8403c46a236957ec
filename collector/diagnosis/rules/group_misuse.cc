// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/group-misuse.md
#include <fmt/format.h>

#include <algorithm>

#include "collector/diagnosis/certainty/hang.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// Adds the sites where a group was opened, or closed once too often. Ranks at one place share a
// site.
void AddSites(const Analysis& analysis, const std::vector<uint32_t>& processes, Finding* finding) {
  for (const uint32_t p : processes) {
    const Thread* thread = UnbalancedThread(analysis.trace.processes[p]);
    if (thread == nullptr) continue;
    const GroupNesting& group = thread->group;
    Site site;
    site.culprit = true;
    site.role = Site::Role::kCulprit;
    site.call_path = group.depth > 0 ? group.call_path : group.stray_call_path;
    site.frame = analysis.sites.UserFrame(site.call_path);
    site.what = group.depth > 0 ? fmt::format("ncclGroupStart, open {} deep", group.depth)
                                : "ncclGroupEnd without its start";
    const auto same = std::ranges::find_if(finding->sites, [&site](const Site& other) {
      return other.culprit && other.call_path == site.call_path && other.what == site.what;
    });
    if (same == finding->sites.end()) {
      finding->sites.push_back(std::move(site));
    }
    Site& at = same == finding->sites.end() ? finding->sites.back() : *same;
    at.ranks.push_back(analysis.RankOf(p));
    Normalize(&at.ranks);
  }
}

size_t Held(const Process& process) {
  return static_cast<size_t>(std::ranges::count_if(process.open_requests, &OpenRequest::held));
}

// Other ranks wait for an operation in a group that was not closed.
std::optional<Finding> JudgeHeldBack(const Analysis& analysis, const Incident& incident) {
  const auto holds = [&](uint32_t p) { return Held(analysis.trace.processes[p]) > 0; };
  const bool waited_for =
      incident.what == Incident::What::kNotArrived || incident.what == Incident::What::kMessage;
  if (!waited_for || !incident.hangs || incident.agreeing_event == nullptr ||
      !IsOnDevice(analysis.Op(*incident.agreeing_event)) || incident.deviating.empty() ||
      !std::ranges::all_of(incident.deviating, holds)) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kGroupMisuse);
  std::erase_if(finding.sites, &Site::culprit);
  AddSites(analysis, incident.deviating, &finding);
  const std::string call = DeviceCallText(analysis, incident, *incident.agreeing_event);
  finding.title = fmt::format("{} has not closed a group: {} is in it, and {} for it",
                              RanksPhrase(finding.culprits), call,
                              RanksPhrase(finding.waiting, "waits", "wait"));
  finding.why =
      "the operations between ncclGroupStart and ncclGroupEnd are launched by the outermost "
      "ncclGroupEnd";
  if (MayStillCloseGroup(analysis, incident)) {
    finding.notes.emplace_back("it may also be blocked between the two calls: see its stack");
  }
  return finding;
}

}  // namespace

std::optional<Finding> JudgeGroupMisuse(const Analysis& analysis, const Incident& incident,
                                        const Divergence&) {
  if (incident.what != Incident::What::kGroup) return JudgeHeldBack(analysis, incident);
  Finding finding = Draft(analysis, incident, VerdictKind::kGroupMisuse);
  finding.sites.clear();
  AddSites(analysis, incident.deviating, &finding);
  uint64_t held = 0;
  bool stray = false;
  for (const uint32_t p : incident.deviating) {
    held += Held(analysis.trace.processes[p]);
    for (const Thread& thread : analysis.trace.processes[p].threads) {
      stray |= thread.group.stray_ends > 0;
    }
  }
  finding.title = stray ? fmt::format("{} called ncclGroupEnd without ncclGroupStart",
                                      RanksPhrase(finding.culprits))
                        : fmt::format("{} ended with a group open", RanksPhrase(finding.culprits));
  if (held > 0) {
    finding.title += fmt::format(", and {} in it", CountText(held, "operation"));
  }
  finding.why = stray ? "ncclGroupStart and ncclGroupEnd must balance on every thread; NCCL "
                        "rejects this ncclGroupEnd"
                      : "the operations in a group are launched only when the group is closed";
  return finding;
}

}  // namespace rollcall
