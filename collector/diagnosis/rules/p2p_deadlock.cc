// docs/verdicts/p2p-deadlock.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// It went well because MPI kept copies of the messages.
Finding JudgeBuffered(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pDeadlock);
  finding.title =
      fmt::format("{} send to each other in a ring, which completes only because MPI buffers it",
                  RanksPhrase(analysis.RanksOf(incident.deviating)));
  finding.why =
      "a standard send may wait for its receive; run again so, each of them waits for the next one";
  finding.notes.emplace_back(
      "it did not hang here: larger messages, or another MPI library, make it hang");
  return finding;
}

}  // namespace

std::optional<Finding> JudgeP2pDeadlock(const Analysis& analysis, const Incident& incident,
                                        const Parted&) {
  if (incident.what == Incident::What::kBuffered) return JudgeBuffered(analysis, incident);
  if (incident.what != Incident::What::kMessage || !incident.mutual) return std::nullopt;
  if (incident.deviating_event == nullptr) return std::nullopt;
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pDeadlock);
  finding.title = fmt::format("{} wait for messages from each other, in a ring",
                              RanksPhrase(analysis.RanksOf(incident.deviating)));
  finding.why = "each of them waits for what only another of them could send or receive";
  if (BufferHides(analysis, incident)) {
    finding.notes.emplace_back(
        "a send is in the ring: smaller messages, which MPI buffers, hide it");
  }
  return finding;
}

}  // namespace rollcall
