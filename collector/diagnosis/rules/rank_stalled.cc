// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/rank-stalled.md
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/diagnosis/certainty/idle.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/gil_wait.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// Adds notes that name the ranks with threads whose stack could not be taken, and the reason.
void NoteUnreadable(const Analysis& analysis, const std::vector<uint32_t>& processes,
                    Finding* finding) {
  std::map<std::string, std::vector<int32_t>> ranks;
  for (const uint32_t p : processes) {
    for (const LiveStack& stack : analysis.trace.processes[p].live_stacks) {
      if (!stack.unreadable.empty()) ranks[stack.unreadable].push_back(analysis.RankOf(p));
    }
  }
  for (auto& [why, of] : ranks) {
    Normalize(&of);
    finding->notes.push_back(
        fmt::format("not all stacks of {} could be taken: {}", RanksPhrase(of), why));
  }
}

// The user's line at which the process waits for the world outside the job; nullptr if unknown.
const SourceFrame* OutsideWaitLine(const Process& process) {
  for (const LiveStack& stack : process.live_stacks) {
    if (stack.tid == process.outside_wait->tid) return InnermostUserFrame(stack.frames);
  }
  return nullptr;
}

// The job does not hang if its ranks wait for work.
Finding AsIdle(const Analysis& analysis, const Incident& incident, Finding finding) {
  const Process& first = analysis.trace.processes[incident.deviating.front()];
  const SourceFrame* line = OutsideWaitLine(first);
  const bool client = first.outside_wait->what == OutsideWait::For::kClient;
  finding.idle = true;
  finding.hangs = false;
  finding.title = fmt::format(
      "idle?: {} for {}{}{}; {} for {} at {}", RanksPhrase(finding.culprits, "waits", "wait"),
      client ? "a client" : "a process outside the job", line == nullptr ? "" : " at ",
      line == nullptr ? "" : PlaceText(*line), RanksPhrase(finding.waiting, "waits", "wait"),
      Verb(finding.culprits, "it", "them"),
      finding.sequence != 0 ? NumberedCall(analysis, incident, finding.operation)
                            : OperationName(finding.operation));
  finding.fix =
      "nothing, if the job serves requests; --idle-after SECONDS calls a longer wait stalled";
  return finding;
}

// Whether each process has a thread inside a call. Its other threads may act.
bool AreInside(const Analysis& analysis, const std::vector<uint32_t>& processes) {
  return std::ranges::all_of(processes, [&](uint32_t p) {
    const OpenCall* open = analysis.graph.processes[p].open;
    return open != nullptr && !IsPoll(analysis.KindOf(open->event));
  });
}

bool MainWaitsForGil(const Process& process) {
  return !process.live_stacks.empty() && GilFrame(process.live_stacks.front().frames) >= 0;
}

// Words the finding for ranks that have a thread inside a call.
void WordInside(const Analysis& analysis, const Incident& incident, const std::string& where,
                Finding* finding) {
  const uint32_t first = incident.deviating.front();
  const std::string call = CallText(analysis, analysis.graph.processes[first].open->event, false);
  const bool gil = MainWaitsForGil(analysis.trace.processes[first]);
  finding->title =
      fmt::format("{} not arrived at {}, where {}: {}one of its threads is in {}",
                  RanksPhrase(finding->culprits, "has", "have"), where,
                  RanksPhrase(finding->waiting, "waits", "wait"),
                  gil ? "its main thread waits for Python's lock (GIL), and " : "", call);
  if (!gil) return;
  if (finding->kind == VerdictKind::kInitHang) finding->kind = VerdictKind::kRankStalled;
  finding->fix = GilFix(OperationName(analysis.Op(analysis.graph.processes[first].open->event)));
}

std::optional<Finding> JudgeBehind(const Analysis& analysis, const Incident& incident) {
  if (incident.agreeing_event != nullptr && IsOnDevice(analysis.Op(*incident.agreeing_event))) {
    return JudgeStalledHost(analysis, incident);
  }
  // Slowness is not a hang: only a long time, or a job that is over, is reported.
  const int64_t idle_ns = analysis.IdleNs(incident.deviating.front());
  const bool unknown = idle_ns < 0 && analysis.options.job_ended;
  const bool looked_into = std::ranges::any_of(
      incident.deviating, [&](uint32_t process) { return analysis.WasLookedInto(process); });
  if (!unknown && !looked_into && idle_ns < analysis.options.StalledAfterNs()) return std::nullopt;
  const Rule rule =
      FindOperation(static_cast<uint16_t>(incident.agreeing_event == nullptr
                                              ? Operation::kNone
                                              : analysis.Op(*incident.agreeing_event)))
          .rule;
  // If the call that the others wait in makes a communicator: docs/verdicts/init-hang.md.
  Finding finding =
      Draft(analysis, incident,
            incident.sequence != 0 && rule == Rule::kCreate ? VerdictKind::kInitHang
                                                            : VerdictKind::kRankStalled);
  if (finding.kind == VerdictKind::kInitHang) finding.fix = KindFix(VerdictKind::kRankStalled);
  const std::vector<int32_t> behind = analysis.RanksOf(incident.deviating);
  const std::string where = incident.sequence != 0
                                ? NumberedCall(analysis, incident, finding.operation)
                                : OperationName(finding.operation);
  finding.title = fmt::format("{} outside every call, and {} not arrived at {}, where {}",
                              RanksPhrase(behind, "is", "are"), Verb(behind, "has", "have"), where,
                              RanksPhrase(finding.waiting, "waits", "wait"));
  const bool inside = AreInside(analysis, incident.deviating);
  if (inside) WordInside(analysis, incident, where, &finding);
  finding.why = unknown ? "it made no further call before the job ended"
                        : fmt::format("its last call {} {} ago", inside ? "began" : "returned",
                                      DurationText(idle_ns));
  NoteUnreadable(analysis, incident.deviating, &finding);
  if (unknown) finding.notes.emplace_back("how long it had been there is not known");
  return finding;
}

}  // namespace

std::optional<Finding> JudgeRankStalled(const Analysis& analysis, const Incident& incident,
                                        const Divergence&) {
  if (incident.what != Incident::What::kNotArrived) return std::nullopt;
  std::optional<Finding> finding = JudgeBehind(analysis, incident);
  // When the time is up, the job should have ended. A rank that waits for work does not explain
  // that.
  if (!finding || analysis.options.time_is_up || !MayBeIdle(analysis, incident)) return finding;
  return AsIdle(analysis, incident, *std::move(finding));
}

}  // namespace rollcall
