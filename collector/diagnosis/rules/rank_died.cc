// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/rank-died.md
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "collector/diagnosis/rules/ended.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/model/rejections.h"

namespace rollcall {
namespace {

// The place where a process ended itself; only the library's name if it has no symbols. Empty:
// unknown.
std::string WhereItEnded(const SourceFrame& frame) {
  const std::string place = PlaceText(frame);
  if (!place.empty()) return fmt::format("it ended itself at {} in {}", place, FunctionText(frame));
  if (frame.module.empty()) return {};
  return "it ended itself in " + frame.module.substr(frame.module.rfind('/') + 1);
}

// Why MPI ended a process.
struct EndByMpi {
  std::string call;  // "MPI_Init"; empty: unknown
  std::string why;
  std::string fix;
};

EndByMpi DescribeEndByMpi(const Analysis& analysis, const Process& process) {
  const Event* open = process.open_calls.empty() ? nullptr : &process.open_calls.back().event;
  const bool in_init = open != nullptr && analysis.KindOf(*open) == Kind::kInit;
  const uint32_t path = open != nullptr ? open->call_path : process.exit_call_path;
  EndByMpi end;
  end.call = open != nullptr ? CallText(analysis, *open, false)
                             : MpiFunction(analysis.trace, process.exit_call_path);
  std::string where = PlaceText(analysis.sites.UserFrame(path));
  if (!where.empty()) where = " at " + where;
  const std::string called =
      fmt::format("it called {}{}", end.call.empty() ? "MPI" : end.call, where);
  if (process.phase >= ring::Phase::kFinalized) {
    end.why = called + ", after MPI_Finalize";
    end.fix = "call nothing of MPI after MPI_Finalize; MPI_Finalized tells whether it was called";
  } else if (in_init && process.phase != ring::Phase::kStarting) {
    end.why = called + ", but had initialised MPI before";
    end.fix = "initialise MPI once; MPI_Initialized tells whether that was done";
  } else if (in_init) {
    end.why = fmt::format("it ended inside {}{}: MPI could not start there", end.call, where);
    end.fix =
        "read the message that MPI printed; the settings, libraries or devices of that rank "
        "or its node may differ from those of ranks that got further";
  } else if (process.phase == ring::Phase::kStarting) {
    end.why = called + ", before MPI_Init";
    end.fix = "call MPI_Init first; MPI_Initialized tells whether it was called";
  } else {
    end.why = called + "; MPI ends a process for an error, unless MPI_ERRORS_RETURN is set";
    end.fix = "correct the call that MPI reports";
  }
  return end;
}

// "was ended by MPI for MPI_ERR_OTHER (another error) in MPI_Init"
std::string EndByMpiText(const Finding& finding, const Process& process, const EndByMpi& end) {
  std::string text = EndText(process);
  if (finding.culprits.size() > 1 && text.starts_with("was ")) text.replace(0, 3, "were");
  return end.call.empty() ? text : text + " in " + end.call;
}

void WordDeath(const Analysis& analysis, const Incident& incident, const Process& process,
               Finding* finding) {
  std::string title = fmt::format("{} {}", RanksPhrase(finding->culprits), EndText(process));
  if (process.phase < ring::Phase::kFinalizing && !process.without_mpi)
    title += " without MPI_Finalize";
  finding->title = title + WaitingText(analysis, incident, *finding);
  if (finding->waiting.empty()) finding->fix = "fix that rank; nothing hung";
  if (incident.deviating_event != nullptr) {
    const bool inside = analysis.graph.processes[incident.deviating.front()].open != nullptr;
    const std::string place =
        PlaceText(analysis.sites.UserFrame(incident.deviating_event->call_path));
    finding->why = fmt::format("it ended {} {}{}{}", inside ? "inside" : "after",
                               CallText(analysis, *incident.deviating_event, false),
                               place.empty() ? "" : " at ", place);
  } else {
    const bool in_log = analysis.trace.evidence == Trace::Evidence::kLogs;
    finding->why =
        in_log ? "a line of the log states its end" : "it ended before its first recorded call";
  }
  if (process.exit_call_path != kNoIndex) {
    std::string where = WhereItEnded(analysis.sites.UserFrame(process.exit_call_path));
    if (!where.empty()) finding->notes.push_back(std::move(where));
  }
}

}  // namespace

std::string WaitingText(const Analysis& analysis, const Incident& incident,
                        const Finding& finding) {
  if (finding.waiting.empty()) return {};
  std::string text = fmt::format("; {} for {}", RanksPhrase(finding.waiting, "waits", "wait"),
                                 Verb(finding.culprits, "it", "them"));
  if (incident.sequence == 0) return text;
  return text + " in " + NumberedCall(analysis, incident, finding.operation);
}

void AddCleanUpNote(const Trace& trace, Finding* finding) {
  uint64_t cleaned = 0;
  for (const Process& process : trace.processes) cleaned += process.end.by_launcher ? 1 : 0;
  if (cleaned == 0) return;
  finding->notes.push_back(
      fmt::format("the launcher then ended {}", CountText(cleaned, "other rank")));
}

void AddClockNote(const Analysis& analysis, const Incident& incident, Finding* finding) {
  const std::vector<Process>& processes = analysis.trace.processes;
  const Process& culprit = processes[incident.deviating.front()];
  const Process* farthest = nullptr;
  int64_t most_ns = kEndOrderBlurNs;
  for (const uint32_t p : analysis.trace.worlds[culprit.world].processes) {
    if (p == kNoIndex || !processes[p].clock || !culprit.clock) continue;
    const int64_t apart_ns = std::abs(processes[p].clock->offset_ns - culprit.clock->offset_ns);
    if (apart_ns <= most_ns) continue;
    most_ns = apart_ns;
    farthest = &processes[p];
  }
  if (farthest == nullptr) return;
  finding->notes.push_back(
      fmt::format("clocks of {} and {} differ by {} ± {:.1f} ms; times are corrected", culprit.host,
                  farthest->host, DurationText(most_ns),
                  static_cast<double>(culprit.clock->error_ns + farthest->clock->error_ns) / 1e6));
}

std::optional<Finding> JudgeRankDied(const Analysis& analysis, const Incident& incident,
                                     const Divergence&) {
  if (incident.what != Incident::What::kDeath) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kRankDied);
  const Process& process = analysis.trace.processes[incident.deviating.front()];
  if (process.ended_by) {
    EndByMpi end = DescribeEndByMpi(analysis, process);
    finding.title =
        fmt::format("{} {}{}", RanksPhrase(finding.culprits), EndByMpiText(finding, process, end),
                    WaitingText(analysis, incident, finding));
    finding.why = std::move(end.why);
    finding.fix = std::move(end.fix);
  } else {
    WordDeath(analysis, incident, process, &finding);
  }
  AddCleanUpNote(analysis.trace, &finding);
  AddClockNote(analysis, incident, &finding);
  return finding;
}

}  // namespace rollcall
