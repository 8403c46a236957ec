// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/uneven-iterations.md
#include <fmt/format.h>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/diagnosis/wording/exit_text.h"
#include "collector/diagnosis/wording/rounds_text.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// "37 rounds", "1 call of it", "at least 6 rounds"
std::string IterationsText(const Divergence& divergence) {
  return fmt::format("{}{} {}{}{}", divergence.iterations_lost ? "at least " : "",
                     divergence.iterations, divergence.by_iterations ? "round" : "call",
                     divergence.iterations == 1 ? "" : "s",
                     divergence.by_iterations ? "" : " of it");
}

// Adds the alternative explanation if the records do not decide whether the rank left the loop.
void AddReadings(const Incident& incident, const Divergence& divergence, const std::string& left,
                 const std::string& stayed, const std::string& operation, const std::string& other,
                 Finding* finding) {
  if (!divergence.MayBeInLoop()) return;
  finding->notes.push_back(
      fmt::format("either {} left the loop a round earlier than {}", left, stayed));
  finding->notes.push_back(
      divergence.left_for_certain || incident.what == Incident::What::kRounds
          ? fmt::format("or {} skipped {}, which is under a condition in the loop", left, operation)
          : fmt::format("or {} is in the loop, under a condition that only {} met", other, left));
  finding->fix = fmt::format("{}; or make the conditional call on every rank",
                             KindFix(VerdictKind::kUnevenIterations));
}

// For a loop that exchanges messages.
Finding JudgeRounds(const Analysis& analysis, const Incident& incident,
                    const Divergence& divergence) {
  const RoundDetails& rounds = incident.Of<RoundDetails>();
  Finding finding = Draft(analysis, incident, VerdictKind::kUnevenIterations, rounds.more);
  const std::vector<uint32_t>& left = rounds.more ? incident.agreeing : incident.deviating;
  const std::string ranks = RanksPhrase(analysis.RanksOf(left));
  const std::string stayed = RanksPhrase(analysis.RanksOf({rounds.waiter}));
  const std::string& operation = finding.called;
  const Event& next = *(rounds.more ? incident.agreeing_event : incident.deviating_event);
  const std::string other = OtherCall(analysis, incident, next);
  finding.title =
      rounds.more
          ? fmt::format("{} made a round more than the others of the loop around {}: {}",
                        RanksPhrase(finding.culprits), operation, RoundsText(analysis, incident))
          : fmt::format("{} {} the loop around {}{}: {}", ranks,
                        divergence.left_for_certain ? "left" : "seems to have left", operation,
                        incident.tie ? "" : " too early", RoundsText(analysis, incident));
  finding.why = divergence.loop.path != kNoIndex
                    ? fmt::format("{} is outside the loop in lines {} to {} that contains {}",
                                  other, divergence.loop.first, divergence.loop.last, operation)
                    : fmt::format("{} continued to {}, where it had not been in earlier rounds",
                                  ranks, other);
  AddExitNote(incident, ranks, &finding);
  AddReadings(incident, divergence, ranks, stayed, operation, other, &finding);
  return finding;
}

}  // namespace

std::optional<Finding> JudgeUnevenIterations(const Analysis& analysis, const Incident& incident,
                                             const Divergence& divergence) {
  if (!divergence.uneven) return std::nullopt;
  if (incident.what == Incident::What::kRounds) return JudgeRounds(analysis, incident, divergence);
  const bool fits =
      (incident.what == Incident::What::kCalls &&
       (incident.mismatch.kind == MismatchKind::kOperation || divergence.separate_calls)) ||
      incident.what == Incident::What::kShift || incident.what == Incident::What::kLeft ||
      incident.what == Incident::What::kUnbalanced ||
      (incident.what == Incident::What::kCycle && !incident.Of<WaitDetails>().crossed);
  if (!fits) return std::nullopt;
  Finding finding =
      Draft(analysis, incident, VerdictKind::kUnevenIterations, !divergence.deviating_left);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  const std::vector<int32_t>& left = divergence.deviating_left ? deviating : agreeing;
  const std::vector<int32_t>& stayed = divergence.deviating_left ? agreeing : deviating;
  const Event* next =
      divergence.deviating_left ? incident.deviating_event : incident.agreeing_event;
  const std::string other = OtherCall(analysis, incident, *next);
  const std::string& operation = finding.called;
  if (divergence.left_for_certain) {
    finding.title = fmt::format(
        "{} left the loop around {} after {}{}; {} {} in {}", RanksPhrase(left), operation,
        IterationsText(divergence),
        incident.tie                ? ""
        : divergence.deviating_left ? ", too early"
                                    : "",
        RanksPhrase(stayed),
        incident.what == Incident::What::kUnbalanced ? "called it" : Verb(stayed, "is", "are"),
        divergence.iterations_lost || !divergence.by_iterations
            ? "the next"
            : fmt::format("round {}", divergence.iterations + 1));
  } else {
    finding.title = fmt::format(
        "{} continued to {} instead of {} {} {}", RanksPhrase(left), other,
        Verb(left, "its", "their"),
        divergence.iterations_lost ? "next" : Ordinal(divergence.iterations + 1), operation);
  }
  if (divergence.loop.path != kNoIndex) {
    finding.why = fmt::format("{} is outside the loop in lines {} to {} that contains {}", other,
                              divergence.loop.first, divergence.loop.last, operation);
  } else {
    finding.why =
        fmt::format("the call sites repeat every {}; after complete rounds {} continued to {}",
                    divergence.period == 1 ? "call" : fmt::format("{} calls", divergence.period),
                    RanksPhrase(left), other);
  }
  AddExitNote(incident, RanksPhrase(left), &finding);
  AddReadings(incident, divergence, RanksPhrase(left), RanksPhrase(stayed), operation, other,
              &finding);
  return finding;
}

}  // namespace rollcall
