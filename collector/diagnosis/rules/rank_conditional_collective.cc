// docs/verdicts/rank-conditional-collective.md
#include <fmt/format.h>

#include "collector/diagnosis/describe.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

bool Fits(const Incident& incident, const Parted& parted) {
  if (parted.uneven || parted.later_made) return false;
  switch (incident.what) {
    case Incident::What::kCalls:
      if (incident.mismatch.kind != MismatchKind::kOperation) return parted.separate_calls;
      return parted.parting.known && parted.parting.branch;
    case Incident::What::kUnbalanced:
      return parted.parting.known && parted.parting.branch;
    case Incident::What::kShift:
      return true;
    case Incident::What::kCycle:
      return !incident.crossed;
    case Incident::What::kLeft:
      // A few are left in a call that most never made; or the call was gone past, on the way to an
      // MPI_Finalize behind it. One that stands before it is finalized-early.
      return !parted.skipped ||
             (parted.parting.known && parted.parting.branch && parted.parting.order < 0);
    default:
      return false;
  }
}

std::string Why(const Parted& parted) {
  const Parting& parting = parted.parting;
  if (!parting.known || !parting.branch) return "the histories of their call sites part there";
  std::string why = fmt::format("both calls come from {} by the same call path, and part there",
                                FunctionText(parting.a));
  if (parting.a.line != 0 && parting.b.line != 0) {
    why += fmt::format(", at lines {} and {}", parting.a.line, parting.b.line);
  }
  return why;
}

}  // namespace

std::optional<Finding> JudgeRankConditionalCollective(const Analysis& analysis,
                                                      const Incident& incident,
                                                      const Parted& parted) {
  if (!Fits(incident, parted)) return std::nullopt;
  Finding finding =
      Draft(analysis, incident, VerdictKind::kRankConditionalCollective, !parted.skipped);
  const std::string call = NumberedCall(analysis, incident, finding.operation);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  const Event* instead = parted.skipped ? incident.deviating_event : incident.agreeing_event;
  const std::string other = instead == nullptr ? "" : CallText(analysis, *instead, false);
  if (incident.tie) {
    const std::vector<int32_t>& made = parted.skipped ? agreeing : deviating;
    const std::vector<int32_t>& skipped = parted.skipped ? deviating : agreeing;
    finding.title =
        fmt::format("{} called {}, {} did not{}: {} against {}", RanksPhrase(made), call,
                    RanksPhrase(skipped), other.empty() ? "" : " and went on to " + other,
                    made.size() == 1 ? "one" : fmt::format("{}", made.size()),
                    skipped.size() == 1 ? "one" : fmt::format("{}", skipped.size()));
  } else if (parted.skipped) {
    finding.title = fmt::format("{} skipped {}", RanksPhrase(deviating), call);
    if (incident.what == Incident::What::kShift) {
      finding.title += "; since then its calls meet the wrong ones of the others";
    } else if (!finding.waiting.empty()) {
      finding.title += fmt::format("; {} {} in it", RanksPhrase(finding.waiting),
                                   Verb(finding.waiting, "waits", "wait"));
    }
  } else {
    finding.title = fmt::format("only {} called {}; {} went on to {}", RanksPhrase(deviating), call,
                                RanksPhrase(agreeing), other);
  }
  finding.why = Why(parted);
  if (incident.what == Incident::What::kShift) {
    finding.why += fmt::format("; from there on one history is the other one, shifted by {} call{}",
                               incident.shifted_calls, incident.shifted_calls == 1 ? "" : "s");
  }
  finding.fix = fmt::format("call {} on every rank; keep only the side effect under the condition",
                            OperationName(finding.operation));
  return finding;
}

}  // namespace rollcall
