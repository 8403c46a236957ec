// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "collector/diagnosis/certainty/cause.h"
#include "collector/diagnosis/certainty/hang.h"
#include "collector/diagnosis/certainty/weak_wait.h"
#include "collector/diagnosis/detectors/divergence.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/waiting.h"
#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stacks.h"
#include "collector/diagnosis/wording/caller_text.h"
#include "collector/diagnosis/wording/data_text.h"
#include "collector/diagnosis/wording/phases.h"
#include "collector/diagnosis/wording/place_text.h"
#include "collector/diagnosis/wording/python_notes.h"
#include "collector/diagnosis/wording/torch_text.h"
#include "collector/diagnosis/wording/values.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// The finding of the first rule that explains the incident, with both certainties.
std::optional<Finding> Name(const Analysis& analysis, const Incident& incident) {
  using Rule = std::optional<Finding> (*)(const Analysis&, const Incident&, const Divergence&);
  constexpr Rule kRules[] = {
#define KIND(identifier, ...) Judge##identifier,
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND
  };
  const Divergence divergence = FindDivergence(analysis, incident);
  if (!analysis.trace.HasRecords()) {
    Finding finding = JudgeStacks(analysis, incident);
    SettleCertainty(analysis, incident, divergence, &finding);
    return finding;
  }
  for (const Rule rule : kRules) {
    if (std::optional<Finding> finding = rule(analysis, incident, divergence)) {
      SettleCertainty(analysis, incident, divergence, &*finding);
      AddCaller(analysis, incident, &*finding);
      AddTorchNotes(analysis, incident, &*finding);
      return finding;
    }
  }
  return std::nullopt;
}

// Drops hangs that it is too early to report, because waiting ranks may continue by themselves.
// Returns whether there are any. Facts stay, but are not yet reported as a hang.
bool DropWhatIsTooEarly(const Analysis& analysis, std::vector<Incident>* incidents) {
  bool any = false;
  std::erase_if(*incidents, [&](Incident& incident) {
    const std::optional<WeakWait> weak = FindWeakWait(analysis, incident);
    if (!weak || weak->certainty) return false;
    any = true;
    incident.hangs = false;
    return !incident.mismatch && !IsFact(analysis, incident);
  });
  return any;
}

// Whether the finding is that ranks ended. A rank with an uncaught Python exception may not have
// ended: it may hang in MPI_Finalize.
bool IsAboutAnEnd(const Analysis& analysis, const Finding& finding) {
  if (finding.kind == VerdictKind::kRankDied) return true;
  if (finding.kind != VerdictKind::kUncaughtException) return false;
  const std::vector<Process>& all = analysis.trace.processes;
  return std::ranges::none_of(all, [&](const Process& process) {
    return process.world == finding.world && process.exception &&
           process.exception->kind == ring::ExceptionKind::kPython &&
           process.exit_mark == ring::ExitMark::kNone;
  });
}

Report::Status StatusOfPlaces(const Trace& trace, const Report& report) {
  for (const Finding& finding : report.findings) {
    if (finding.hangs) return Report::Status::kHung;
    if (finding.kind != VerdictKind::kInconclusive) return Report::Status::kFailed;
  }
  return trace.evidence == Trace::Evidence::kCores ? Report::Status::kStopped
                                                   : Report::Status::kRunning;
}

Report::Status StatusOf(const Analysis& analysis, const Report& report) {
  const Trace& trace = analysis.trace;
  if (trace.processes.empty()) return Report::Status::kNoRanks;
  if (!trace.HasRecords()) return StatusOfPlaces(trace, report);
  for (const Finding& finding : report.findings) {
    // A job has failed, and does not hang, if one of its ranks ended.
    const bool ended = IsAboutAnEnd(analysis, finding) ||
                       (finding.kind == VerdictKind::kInvalidArgument && analysis.AnyEnded());
    if (finding.hangs && !ended) return Report::Status::kHung;
  }
  bool all_gone = true;
  bool all_well = true;
  bool died = false;
  bool stopped = false;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const Process& process = trace.processes[p];
    const bool ended = HasEnded(process.end);
    const bool finalized = process.phase == ring::Phase::kFinalized;
    died |= analysis.graph.processes[p].activity == Activity::kEnded;
    stopped |= ended && !finalized;
    all_gone &= ended || finalized;
    all_well &= finalized &&
                (process.end.how != ProcessEnd::How::kExited || process.end.status == 0) &&
                process.end.how != ProcessEnd::How::kSignaled;
  }
  if (died) {
    // Some ranks are still alive and wait for the rank that died.
    const bool waiting = std::ranges::any_of(report.findings, &Finding::hangs);
    return waiting && !all_gone ? Report::Status::kHung : Report::Status::kFailed;
  }
  if (all_well) return Report::Status::kFinished;
  if (!all_gone && !analysis.options.job_ended) return Report::Status::kRunning;
  if (stopped || !all_gone) return Report::Status::kStopped;
  return Report::Status::kFailed;
}

bool IsProven(const Analysis& analysis, const Incident& incident) {
  const std::vector<uint32_t> waiting = WaitingFor(analysis, incident);
  // HangCertainty() uses the kind only for incidents that are not errors.
  return HangCertainty({analysis, incident, VerdictKind::kInconclusive, waiting}) ==
         Certainty::kProven;
}

// For a job that was ended because its time was up. Ranks that moved until then might have
// continued, so their incidents are dropped. Facts stay, but are not reported as the reason that
// the job stopped.
void DropWhatMoved(const Analysis& analysis, std::vector<Incident>* incidents) {
  std::erase_if(*incidents, [&analysis](Incident& incident) {
    if (incident.Is(Trait::kOfTime)) return true;
    if (!incident.hangs || StoodStill(analysis, incident)) return false;
    const bool stays = incident.Is(Trait::kError) && IsProven(analysis, incident);
    incident.hangs = false;
    return !stays;
  });
}

// Finds problems that do not stop a job. Runs only if nothing else was found: a job that stops has
// another cause, and after mismatched calls the times of later arrivals mean nothing. `early`: it
// is too early to report a hang.
void FindWhatDoesNotStop(const Analysis& analysis, bool early, std::vector<Incident>* incidents) {
  const DiagnoseOptions& options = analysis.options;
  if (options.time_limit_ns >= 0) {
    DropWhatMoved(analysis, incidents);
    const bool hangs = std::ranges::any_of(*incidents, &Incident::hangs);
    if (!hangs) FindTimedOut(analysis, incidents);
  }
  if (early || !incidents->empty()) return;
  if (options.judge_end && AllFinalized(analysis)) {
    FindUnbalanced(analysis, incidents);
    FindUnreceived(analysis, incidents);
    FindLeaks(analysis, incidents);
  }
  if (options.compare_call_sites) FindDivergentSites(analysis, incidents);
  if (options.judge_buffering) FindBufferedRings(analysis, incidents);
  if (options.find_stragglers) FindStragglers(analysis, incidents);
}

// Whether there is a communicator on which a process of `late` has made fewer calls than a process
// of `ranks`. Sooner or later the process of `ranks` waits for the process of `late`.
bool HasNotArrived(const Analysis& analysis, const std::vector<uint32_t>& late,
                   const std::vector<uint32_t>& ranks) {
  for (uint32_t c = 0; c < analysis.histories.size(); ++c) {
    const auto entered = [&](uint32_t process) -> std::optional<uint64_t> {
      const MemberHistory* history = analysis.HistoryOf(c, process);
      if (history == nullptr || !history->member->counted) return std::nullopt;
      return history->entered;
    };
    std::optional<uint64_t> least;
    for (const uint32_t p : late) {
      if (const auto made = entered(p)) least = std::min(*made, least.value_or(*made));
    }
    if (!least) continue;
    for (const uint32_t p : ranks) {
      if (entered(p).value_or(0) > *least) return true;
    }
  }
  return false;
}

// If all ranks have arrived and none returns, the layers below the program are at fault, unless
// another finding explains the wait of these ranks. On devices, other work may be the cause: the
// work that is queued before an operation on a stream is not recorded.
void DropExplainedTransport(const Analysis& analysis, std::vector<Incident>* incidents) {
  using What = Incident::What;
  const auto explains = [&](const Incident& cause, const Incident& transport) {
    if (!cause.hangs || cause.what == What::kAllArrived || cause.what == What::kAbsent ||
        cause.what == What::kLost) {
      return false;
    }
    const std::vector<uint32_t>& ranks = transport.agreeing;
    const auto among = [&](uint32_t p) { return Contains(ranks, p); };
    return std::ranges::any_of(cause.deviating, among) ||
           std::ranges::any_of(cause.agreeing, among) ||
           (IsOnDevice(analysis.Op(*transport.agreeing_event)) &&
            HasNotArrived(analysis, cause.deviating, ranks));
  };
  // The incidents to drop are selected before any is dropped.
  std::vector<Incident> kept;
  for (const Incident& incident : *incidents) {
    const bool arrived = incident.what == What::kAllArrived || incident.what == What::kLost;
    const bool drop = arrived && incident.agreeing_event != nullptr &&
                      std::ranges::any_of(
                          *incidents, [&](const auto& cause) { return explains(cause, incident); });
    if (!drop) kept.push_back(incident);
  }
  *incidents = std::move(kept);
}

// The order of findings: errors before notes; then findings that stop the job, whose certainty the
// headline shows; then findings that do not clear the program; then the more certain ones; then
// those with culprits.
auto PlaceOf(const Finding& finding) {
  return std::tuple(KindSeverity(finding.kind), !finding.hangs,
                    finding.kind == VerdictKind::kTransportStalled, finding.certainty,
                    finding.culprits.empty(), finding.kind, finding.communicator);
}

// Adds a note if the rank that others wait for was usually the last to arrive before.
void ExplainByLateness(const Analysis& analysis, Report* report) {
  if (!analysis.options.find_stragglers) return;
  std::vector<Incident> late;
  FindStragglers(analysis, &late);
  for (Finding& finding : report->findings) {
    if (finding.kind != VerdictKind::kRankStalled) continue;
    for (const Incident& incident : late) {
      if (finding.culprits != analysis.RanksOf(incident.deviating)) continue;
      finding.notes.push_back(fmt::format("it arrived last at {} of {} earlier collectives",
                                          incident.Of<Lateness>().last,
                                          incident.Of<Lateness>().of));
    }
  }
}

// Counts the ranks that hang but that no finding names. They wait for the named ones.
void CountConsequences(const Analysis& analysis, Report* report) {
  std::set<int32_t> named;
  Finding* first = nullptr;
  for (Finding& finding : report->findings) {
    if (BasisOf(finding.kind) == KindBasis::kData) continue;
    named.insert(finding.culprits.begin(), finding.culprits.end());
    named.insert(finding.waiting.begin(), finding.waiting.end());
    if (finding.hangs && first == nullptr) first = &finding;
  }
  if (first == nullptr) return;
  std::vector<int32_t> others;
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    const ProcessView& view = analysis.graph.processes[p];
    const bool in_finalize = view.activity == Activity::kLeft &&
                             analysis.trace.processes[p].phase == ring::Phase::kFinalizing;
    if (!analysis.Waits(p) && !in_finalize) continue;
    if (!named.contains(analysis.RankOf(p))) others.push_back(analysis.RankOf(p));
  }
  if (others.empty()) return;
  Normalize(&others);
  first->notes.push_back(fmt::format("{} as a consequence ({} in all)",
                                     RanksPhrase(others, "waits", "wait"), others.size()));
}

// Quotes the lines of the log on which the finding rests.
void AddQuotes(const Trace& trace, Finding* finding) {
  constexpr size_t kMaxQuotes = 4;
  constexpr size_t kMaxWaiting = 2;
  const auto quote = [&](const std::vector<int32_t>& ranks, size_t most, size_t of_each) {
    size_t quoted = 0;
    for (const int32_t rank : ranks) {
      const uint32_t p = ProcessOf(trace, 0, rank);
      size_t own = 0;
      for (const LogLine& line : trace.log_lines) {
        if (line.process != p || p == kNoIndex || quoted == most || own == of_each) continue;
        if (line.communicator != kNoIndex && finding->communicator != kNoIndex &&
            line.communicator != finding->communicator) {
          continue;
        }
        finding->quotes.push_back({line.file, line.line, line.text});
        ++quoted;
        ++own;
      }
    }
  };
  quote(finding->culprits, kMaxQuotes, 2);
  quote(finding->waiting, kMaxWaiting, 1);
  if (!finding->quotes.empty()) return;
  for (const Site& site : finding->sites) quote(site.ranks, 1, 1);
}

// Reports what a log shows without naming a rank, if there is no finding.
void AddStatements(const Trace& trace, Report* report) {
  for (const LogLine& line : trace.log_lines) {
    if (line.process != kNoIndex || line.statement.empty()) continue;
    Finding finding;
    finding.kind = VerdictKind::kInconclusive;
    finding.world = trace.worlds.empty() ? kNoIndex : 0;
    finding.title = line.statement;
    finding.why = "the log shows no more about this";
    finding.fix =
        "next time run the job under `rollcall run`. Without it, set "
        "TORCH_NCCL_TRACE_BUFFER_SIZE=2000, whose dumps `rollcall analyze` reads, or "
        "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,COLL";
    finding.quotes.push_back({line.file, line.line, line.text});
    report->findings.push_back(std::move(finding));
    return;
  }
}

// Adds notes on the gaps in the evidence.
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
    const bool of_logs = trace.evidence == Trace::Evidence::kLogs;
    if (of_logs && world.size < 0) continue;  // how many ranks the job has is not known
    const std::string text =
        fmt::format("no {} of {}", of_logs ? "line" : "trace", RanksPhrase(missing));
    const bool said = std::ranges::any_of(
        report->notes, [&](const auto& note) { return note.find(text) != std::string::npos; });
    if (!said) report->notes.push_back(text);
  }
}

}  // namespace

Report Diagnose(const Trace& trace, const DiagnoseOptions& options) {
  Report report;
  AnalyzedTrace settled = Analyze(trace, options);
  const Analysis& analysis = settled.analysis;
  report.notes = std::move(settled.notes);
  report.ranks = static_cast<uint32_t>(trace.processes.size());
  for (const World& world : trace.worlds) {
    report.ranks_expected += static_cast<uint32_t>(
        std::max<size_t>(world.processes.size(), static_cast<size_t>(std::max(world.size, 0))));
  }
  // A core does not name its host.
  report.hosts = trace.evidence == Trace::Evidence::kCores ? 0 : CountHosts(trace);
  report.no_progress_ns = analysis.no_progress_ns;

  std::vector<Incident> incidents = FindIncidents(analysis, std::move(settled.call_incidents));
  DropExplainedTransport(analysis, &incidents);
  const bool early = DropWhatIsTooEarly(analysis, &incidents);
  FindWhatDoesNotStop(analysis, early, &incidents);
  if (options.judge_data) {
    // Wrong data and a hang are two findings. Neither makes the other less certain.
    for (Incident& incident : FindDataIncidents(analysis, incidents)) {
      incidents.push_back(std::move(incident));
    }
  }
  for (const Incident& incident : incidents) {
    std::optional<Finding> finding = Name(analysis, incident);
    if (finding) report.findings.push_back(std::move(*finding));
  }
  if (report.findings.empty()) AddStatements(trace, &report);
  std::ranges::stable_sort(
      report.findings, [](const Finding& a, const Finding& b) { return PlaceOf(a) < PlaceOf(b); });
  for (Finding& finding : report.findings) {
    if (report.hosts > 1) finding.culprit_hosts = HostsOf(trace, finding);
    AddPhases(trace, &finding);
    AddValues(trace, analysis.sites, &finding);
    AddQuotes(trace, &finding);
  }
  CountConsequences(analysis, &report);
  ExplainByLateness(analysis, &report);
  if (trace.HasRecords()) {
    AddGaps(analysis, &report);
    AddPythonStateNotes(trace, &report);
  } else {
    AddPlaceNotes(analysis, &report);
  }
  AddDataCoverage(trace, &report);
  report.status = StatusOf(analysis, report);
  return report;
}

void UpdateValues(const Trace& trace, Report* report) {
  const CallSites sites(trace);
  for (Finding& finding : report->findings) AddValues(trace, sites, &finding);
}

bool HasEnded(const Trace& trace) {
  return std::ranges::none_of(trace.processes, [](const Process& process) {
    return process.end.how == ProcessEnd::How::kAlive;
  });
}

}  // namespace rollcall
