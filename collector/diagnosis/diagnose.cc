#include "collector/diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "collector/diagnosis/analysis.h"
#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/incident.h"
#include "collector/diagnosis/order.h"
#include "collector/diagnosis/python_notes.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::optional<Finding> Name(const Analysis& analysis, const Incident& incident) {
  using Rule = std::optional<Finding> (*)(const Analysis&, const Incident&, const Parted&);
  constexpr Rule kRules[] = {
#define RULE(kind) Judge##kind,
#include "collector/diagnosis/rules/rules.def"
#undef RULE
  };
  const Parted parted = HowParted(analysis, incident);
  for (const Rule rule : kRules) {
    if (std::optional<Finding> finding = rule(analysis, incident, parted)) {
      LimitKindCertainty(finding->certainty, &*finding);
      return finding;
    }
  }
  return std::nullopt;
}

Report::Status StatusOf(const Analysis& analysis, const Report& report) {
  const Trace& trace = analysis.trace;
  if (trace.processes.empty()) return Report::Status::kNoRanks;
  for (const Finding& finding : report.findings) {
    if (finding.hangs && finding.kind != VerdictKind::kRankDied) return Report::Status::kHung;
  }
  bool all_gone = true;
  bool all_well = true;
  bool died = false;
  bool stopped = false;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Process& process = trace.processes[p];
    const bool ended = process.end.how == ProcessEnd::How::kExited ||
                       process.end.how == ProcessEnd::How::kSignaled ||
                       process.end.how == ProcessEnd::How::kVanished;
    const bool finalized = process.phase == ring::Phase::kFinalized;
    died |= analysis.graph.processes[p].activity == Activity::kEnded;
    stopped |= ended && !finalized;
    all_gone &= ended || finalized;
    all_well &= finalized &&
                (process.end.how != ProcessEnd::How::kExited || process.end.status == 0) &&
                process.end.how != ProcessEnd::How::kSignaled;
  }
  if (died) {
    // Some are still there, and wait for it.
    const bool waiting = std::any_of(report.findings.begin(), report.findings.end(),
                                     [](const Finding& finding) { return finding.hangs; });
    return waiting && !all_gone ? Report::Status::kHung : Report::Status::kFailed;
  }
  if (all_well) return Report::Status::kFinished;
  if (!all_gone && !analysis.options.job_ended) return Report::Status::kRunning;
  if (stopped || !all_gone) return Report::Status::kStopped;
  return Report::Status::kFailed;
}

// Only where nothing else was found: a job that stops has another cause, and calls that do not
// match make every later arrival worthless.
void FindWhatDoesNotStop(const Analysis& analysis, std::vector<Incident>* incidents) {
  const DiagnoseOptions& options = analysis.options;
  if (options.time_limit_ns >= 0) {
    // Who was late may have come, had there been more time.
    std::erase_if(*incidents, [](const Incident& incident) {
      return incident.what == Incident::What::kBehind;
    });
    const bool hangs = std::any_of(incidents->begin(), incidents->end(),
                                   [](const Incident& incident) { return incident.hangs; });
    if (!hangs) FindTimedOut(analysis, incidents);
  }
  if (!incidents->empty()) return;
  if (options.judge_end && AllFinalized(analysis)) {
    FindUnbalanced(analysis, incidents);
    FindUnreceived(analysis, incidents);
    FindLeaks(analysis, incidents);
  }
  if (options.compare_call_sites) FindDivergentSites(analysis, incidents);
  if (options.judge_buffering) FindBufferedRings(analysis, incidents);
  if (options.find_stragglers) FindStragglers(analysis, incidents);
}

// A rank that the others wait for now, and that came last all the time before.
void ExplainByLateness(const Analysis& analysis, Report* report) {
  if (!analysis.options.find_stragglers) return;
  std::vector<Incident> late;
  FindStragglers(analysis, &late);
  for (Finding& finding : report->findings) {
    if (finding.kind != VerdictKind::kRankStalled) continue;
    for (const Incident& incident : late) {
      if (finding.culprits != analysis.RanksOf(incident.deviating)) continue;
      finding.notes.push_back(fmt::format("it came last to {} of {} collectives before",
                                          incident.lateness.last, incident.lateness.of));
    }
  }
}

// Who waits for good without being named by a finding waits behind those who are.
void CountConsequences(const Analysis& analysis, Report* report) {
  std::set<int32_t> named;
  Finding* first = nullptr;
  for (Finding& finding : report->findings) {
    named.insert(finding.culprits.begin(), finding.culprits.end());
    named.insert(finding.waiting.begin(), finding.waiting.end());
    if (finding.hangs && first == nullptr) first = &finding;
  }
  if (first == nullptr) return;
  std::vector<int32_t> behind;
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    const ProcessView& view = analysis.graph.processes[p];
    const bool in_finalize = view.activity == Activity::kLeft &&
                             analysis.trace.processes[p].phase == ring::Phase::kFinalizing;
    if (!analysis.Waits(p) && !in_finalize) continue;
    if (!named.contains(analysis.RankOf(p))) behind.push_back(analysis.RankOf(p));
  }
  if (behind.empty()) return;
  Normalize(&behind);
  first->notes.push_back(fmt::format("{} {} behind {} ({} in all)", RanksPhrase(behind),
                                     Verb(behind, "waits", "wait"),
                                     report->findings.size() == 1 ? "it" : "these", behind.size()));
}

// What the verdict could not rest on.
void AddGaps(const Analysis& analysis, Report* report) {
  const Trace& trace = analysis.trace;
  for (const Problem& problem : trace.problems) {
    report->notes.push_back(problem.source.empty() ? problem.message
                                                   : problem.source + ": " + problem.message);
  }
  for (const World& world : trace.worlds) {
    std::vector<int32_t> missing;
    for (size_t rank = 0; rank < world.processes.size(); ++rank) {
      if (world.processes[rank] == kNoIndex) missing.push_back(static_cast<int32_t>(rank));
    }
    if (missing.empty()) continue;
    const std::string text = fmt::format("no trace of {}", RanksPhrase(missing));
    const bool said =
        std::any_of(report->notes.begin(), report->notes.end(),
                    [&](const auto& note) { return note.find(text) != std::string::npos; });
    if (!said) report->notes.push_back(text);
  }
}

}  // namespace

Report Diagnose(const Trace& trace, const DiagnoseOptions& options) {
  Report report;
  Analysis analysis(trace, options);
  report.ranks = static_cast<uint32_t>(trace.processes.size());
  for (const World& world : trace.worlds) {
    report.ranks_expected += static_cast<uint32_t>(
        std::max<size_t>(world.processes.size(), static_cast<size_t>(std::max(world.size, 0))));
  }
  std::set<std::string_view> hosts;
  for (const Process& process : trace.processes) {
    if (!process.host.empty()) hosts.insert(process.host);
  }
  report.hosts = static_cast<uint32_t>(hosts.size());
  report.no_progress_ns = analysis.no_progress_ns;

  std::vector<Incident> incidents = FindIncidents(&analysis, &report.notes);
  FindWhatDoesNotStop(analysis, &incidents);
  for (const Incident& incident : incidents) {
    if (std::optional<Finding> finding = Name(analysis, incident)) {
      report.findings.push_back(std::move(*finding));
    }
  }
  // Causes first: what stops the job before what is wrong besides, then by certainty and power;
  // notes last.
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     const auto rank = [](const Finding& finding) {
                       return std::tuple(KindSeverity(finding.kind), !finding.hangs,
                                         finding.certainty, finding.kind, finding.communicator);
                     };
                     return rank(a) < rank(b);
                   });
  CountConsequences(analysis, &report);
  ExplainByLateness(analysis, &report);
  AddGaps(analysis, &report);
  AddPythonStateNotes(trace, &report);
  report.status = StatusOf(analysis, report);
  return report;
}

bool HasEnded(const Trace& trace) {
  return std::none_of(trace.processes.begin(), trace.processes.end(), [](const Process& process) {
    return process.end.how == ProcessEnd::How::kAlive;
  });
}

}  // namespace rollcall
