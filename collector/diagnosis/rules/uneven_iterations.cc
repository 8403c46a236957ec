// docs/verdicts/uneven-iterations.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

std::optional<Finding> JudgeUnevenIterations(const Analysis& analysis, const Incident& incident,
                                             const Parted& parted) {
  if (!parted.uneven) return std::nullopt;
  const bool fits =
      (incident.what == Incident::What::kCalls &&
       (incident.mismatch.kind == MismatchKind::kOperation || parted.separate_calls)) ||
      incident.what == Incident::What::kShift || incident.what == Incident::What::kLeft ||
      incident.what == Incident::What::kUnbalanced ||
      (incident.what == Incident::What::kCycle && !incident.crossed);
  if (!fits) return std::nullopt;
  Finding finding =
      Draft(analysis, incident, VerdictKind::kUnevenIterations, !parted.deviating_left);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  const std::vector<int32_t>& left = parted.deviating_left ? deviating : agreeing;
  const std::vector<int32_t>& stayed = parted.deviating_left ? agreeing : deviating;
  const Event* next = parted.deviating_left ? incident.deviating_event : incident.agreeing_event;
  finding.title = fmt::format(
      "{} left the loop around {} after {}{} rounds{}; {} {} in {}", RanksPhrase(left),
      OperationName(finding.operation), parted.rounds_lost ? "at least " : "", parted.rounds,
      incident.tie            ? ""
      : parted.deviating_left ? ", too early"
                              : "",
      RanksPhrase(stayed),
      incident.what == Incident::What::kUnbalanced ? "called it" : Verb(stayed, "is", "are"),
      parted.rounds_lost ? "the next" : fmt::format("round {}", parted.rounds + 1));
  finding.why = fmt::format("the call sites repeat every {}; after whole rounds {} went on to {}",
                            parted.period == 1 ? "call" : fmt::format("{} calls", parted.period),
                            RanksPhrase(left), CallText(analysis, *next, false));
  return finding;
}

}  // namespace rollcall
