// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/p2p-deadlock.md
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// The job completed because MPI buffered the messages, or let ranks return early from a collective.
Finding JudgeBuffered(const Analysis& analysis, const Incident& incident) {
  const bool messages =
      std::ranges::any_of(incident.calls, [](const Event* call) { return call->sequence == 0; });
  Finding finding =
      Draft(analysis, incident, messages ? VerdictKind::kP2pDeadlock : VerdictKind::kOrderInversion,
            true);
  const std::string ranks = RanksPhrase(analysis.RanksOf(incident.deviating));
  if (!MayReturnEarly(analysis, *incident.deviating_event)) {
    finding.title = fmt::format(
        "{} send to each other in a cycle, which completes only because MPI buffers it", ranks);
    finding.why =
        "a standard send may wait for its receive; if it does, each of them waits for the next one";
    finding.notes.emplace_back(
        "it did not hang here: larger messages, or another MPI library, make it hang");
    return finding;
  }
  const std::string call = OperationName(finding.operation);
  finding.title = fmt::format(
      "{} wait for each other in a cycle, which completes only because {}{} does not wait for the "
      "others",
      ranks, incident.Of<WaitDetails>().buffered ? "MPI buffers a send, or because " : "", call);
  finding.why = fmt::format(
      "{} may wait until every member has called it (MPI 4.0, 6.14){}; if it does, each of them "
      "waits for the next one",
      call, incident.Of<WaitDetails>().buffered ? ", and a standard send for its receive" : "");
  finding.fix =
      messages ? "make the collective before the message on every rank, or after it on every rank"
               : "call the collectives in one order on every rank";
  finding.notes.emplace_back("it did not hang here: another MPI library makes it hang");
  return finding;
}

}  // namespace

std::optional<Finding> JudgeP2pDeadlock(const Analysis& analysis, const Incident& incident,
                                        const Divergence&) {
  if (incident.what == Incident::What::kBuffered) return JudgeBuffered(analysis, incident);
  if (incident.what != Incident::What::kMessage || !incident.Of<MessageDetails>().mutual)
    return std::nullopt;
  if (incident.deviating_event == nullptr) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pDeadlock);
  std::set<std::string> operations;
  bool collective = false;
  for (const uint32_t process : incident.deviating) {
    const Event* stands = analysis.CurrentEvent(process);
    if (stands == nullptr) continue;
    operations.insert(OperationName(analysis.Op(*stands)));
    collective |= stands->sequence != 0;
  }
  finding.title = collective ? fmt::format("{} wait for each other in a cycle, in {}",
                                           RanksPhrase(analysis.RanksOf(incident.deviating)),
                                           fmt::join(operations, " and "))
                             : fmt::format("{} wait for messages from each other, in a cycle",
                                           RanksPhrase(analysis.RanksOf(incident.deviating)));
  finding.why = "each of them waits for an action that only another of them can take";
  if (BufferHides(analysis, incident)) {
    finding.notes.emplace_back(
        "a send is in the cycle: smaller messages, which MPI buffers, hide it");
  }
  return finding;
}

}  // namespace rollcall
