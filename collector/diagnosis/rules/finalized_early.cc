// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/finalized-early.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/diagnosis/wording/rounds_text.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// What a live process did to leave the communicator, such as "aborted world"; empty if the process
// itself ended.
std::string Left(const Analysis& analysis, const Incident& incident) {
  const uint32_t process = incident.deviating.front();
  const bool ended = analysis.trace.processes[process].phase >= ring::Phase::kFinalizing;
  const MemberHistory* history = incident.communicator == kNoIndex
                                     ? nullptr
                                     : analysis.HistoryOf(incident.communicator, process);
  if (ended || history == nullptr) return "";
  const Member& member = *history->member;
  const bool freed = member.state == ring::MemberState::kFreed;
  const std::string& name = analysis.CommunicatorName(incident.communicator);
  if (member.stopped) return fmt::format("{} {}", freed ? "aborted" : "revoked", name);
  return freed ? fmt::format("destroyed {}", name) : "";
}

// For a rank that left a loop that exchanges messages.
Finding JudgeLeftLoop(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kFinalizedEarly);
  finding.title =
      fmt::format("{} entered MPI_Finalize: {}", RanksPhrase(analysis.RanksOf(incident.deviating)),
                  RoundsText(analysis, incident));
  finding.why = "a rank that has entered MPI_Finalize sends and receives no further message";
  return finding;
}

}  // namespace

std::optional<Finding> JudgeFinalizedEarly(const Analysis& analysis, const Incident& incident,
                                           const Divergence&) {
  if (incident.what == Incident::What::kRounds && !incident.Of<RoundDetails>().more &&
      analysis.Finalizes(*incident.deviating_event)) {
    return JudgeLeftLoop(analysis, incident);
  }
  if (incident.what != Incident::What::kLeft) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kFinalizedEarly);
  const std::vector<int32_t> left = analysis.RanksOf(incident.deviating);
  // A process without MPI did not call MPI_Finalize: it returned from main.
  const Process& process = analysis.trace.processes[incident.deviating.front()];
  const bool no_mpi = process.without_mpi;
  std::string did = Left(analysis, incident);
  const bool alive = !did.empty();
  if (!alive) did = no_mpi ? "ended" : "entered MPI_Finalize";
  finding.title = fmt::format("{} {}; {} still {} it in {}", RanksPhrase(left), did,
                              RanksPhrase(finding.waiting), Verb(finding.waiting, "needs", "need"),
                              NumberedCall(analysis, incident, finding.operation));
  finding.why =
      alive    ? "a rank that has left a communicator takes part in no further operation on it"
      : no_mpi ? "it exited without an error before the other ranks had finished"
               : "a rank that has entered MPI_Finalize takes part in no further collective";
  return finding;
}

}  // namespace rollcall
