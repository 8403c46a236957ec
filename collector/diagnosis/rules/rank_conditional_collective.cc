// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/rank-conditional-collective.md
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/diagnosis/wording/exit_text.h"
#include "collector/diagnosis/wording/rounds_text.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

bool Fits(const Analysis& analysis, const Incident& incident, const Divergence& divergence) {
  if (divergence.uneven || divergence.later_made) return false;
  switch (incident.what) {
    case Incident::What::kCalls:
      if (incident.mismatch.kind != MismatchKind::kOperation) return divergence.separate_calls;
      return divergence.path_divergence.known && !divergence.path_divergence.arms &&
             (divergence.path_divergence.branch || (incident.exit && !incident.tie));
    case Incident::What::kUnbalanced:
      return divergence.path_divergence.known && divergence.path_divergence.branch;
    case Incident::What::kShift:
      return true;
    case Incident::What::kCycle:
      return !incident.Of<WaitDetails>().crossed;
    case Incident::What::kRounds:
      return divergence.path_divergence.known && !incident.tie &&
             incident.Of<RoundDetails>().others == 0 &&
             !analysis.Finalizes(*incident.deviating_event) &&
             !analysis.Finalizes(*incident.agreeing_event);
    case Incident::What::kLeft:
      // Either few ranks are in a call that most ranks never made, or the finalizing ranks passed
      // the call on their way to MPI_Finalize. If MPI_Finalize is before the call, the kind is
      // finalized-early.
      return !divergence.skipped ||
             (divergence.path_divergence.known && divergence.path_divergence.branch &&
              divergence.path_divergence.order < 0);
    default:
      return false;
  }
}

std::string Why(const Divergence& divergence) {
  const PathDivergence& path_divergence = divergence.path_divergence;
  if (!path_divergence.known || !path_divergence.branch)
    return "the histories of their call sites diverge there";
  std::string why = fmt::format("both calls come from {} by the same call path and diverge there",
                                FunctionText(path_divergence.a));
  if (path_divergence.a.line != 0 && path_divergence.b.line != 0) {
    why += fmt::format(", at lines {} and {}", path_divergence.a.line, path_divergence.b.line);
  }
  return why;
}

// The alternative explanation, if the records do not decide whether the skipping ranks make the
// call later.
std::string OtherReading(const Analysis& analysis, const Incident& incident, const Event* instead,
                         const std::vector<int32_t>& skipped) {
  std::string text = fmt::format("or {} it later", RanksPhrase(skipped, "makes", "make"));
  if (instead == nullptr || instead->member == kNoIndex) return text;
  if (instead->sequence == 0) return text + ", and each side waits for the other first";
  return text + (analysis.CommunicatorOf(*instead) == incident.communicator
                     ? ", in another order"
                     : ", and two communicators are used in opposite order");
}

// How often the process made a call from this place, as far as it is recorded.
size_t TimesMade(const Analysis& analysis, const MemberHistory& history, uint64_t site) {
  const std::vector<Event>& events = history.member->events;
  return static_cast<size_t>(std::ranges::count_if(
      events, [&](const Event& event) { return analysis.Site(event) == site; }));
}

// What the history shows about the condition around the skipped call. If the rank makes the call at
// other times, the condition depends on more than the rank. If the rank never makes the call
// although others make it repeatedly, the condition depends on the rank. If the others make it for
// the first time, the history shows neither.
std::string ConditionNote(const Analysis& analysis, const Incident& incident,
                          const Divergence& divergence) {
  const Event* call = divergence.skipped ? incident.agreeing_event : incident.deviating_event;
  const bool is_it = call != nullptr && call->sequence == incident.sequence &&
                     incident.sequence != 0 && incident.start == 0 &&
                     analysis.sites.Id(call->call_path) != 0;
  const std::vector<uint32_t>& skipped =
      divergence.skipped ? incident.deviating : incident.agreeing;
  const std::vector<uint32_t>& made = divergence.skipped ? incident.agreeing : incident.deviating;
  if (!is_it || skipped.empty() || made.empty()) return "";
  const uint64_t site = analysis.Site(*call);
  size_t sometimes = 0;
  bool whole = true;
  for (const uint32_t p : skipped) {
    const MemberHistory* history = analysis.HistoryOf(incident.communicator, p);
    if (history == nullptr) return "";
    sometimes += TimesMade(analysis, *history, site) != 0;
    whole &= history->gap_free && history->first == 1;
  }
  const std::vector<int32_t> ranks = analysis.RanksOf(skipped);
  if (sometimes == skipped.size()) {
    return fmt::format("{} this call at other times: the condition depends on more than the rank",
                       RanksPhrase(ranks, "makes", "make"));
  }
  const MemberHistory* maker = analysis.HistoryOf(incident.communicator, made.front());
  if (sometimes != 0 || !whole || maker == nullptr) return "";
  const size_t times = TimesMade(analysis, *maker, site);
  if (times < 2) return "";
  const std::vector<int32_t> makers = analysis.RanksOf({made.front()});
  return fmt::format(
      "{} never {} this call, and {} has made it {} times: the condition depends on "
      "the rank",
      RanksPhrase(ranks), Verb(ranks, "makes", "make"), RanksPhrase(makers), times);
}

// For a loop that exchanges messages.
Finding JudgeSkippedRound(const Analysis& analysis, const Incident& incident,
                          const Divergence& divergence) {
  const RoundDetails& rounds = incident.Of<RoundDetails>();
  Finding finding = Draft(analysis, incident, VerdictKind::kRankConditionalCollective, rounds.more);
  const std::string& operation = finding.called;
  const Event& next = *(rounds.more ? incident.agreeing_event : incident.deviating_event);
  const std::string culprits = RanksPhrase(finding.culprits);
  const std::string other = OtherCall(analysis, incident, next);
  const std::string did =
      rounds.more
          ? fmt::format("called {} once more, and the others continued to {}", operation, other)
      : incident.exit ? fmt::format("{}, without {}", ExitText(*incident.exit), operation)
                      : fmt::format("went past {} to {}", operation, other);
  finding.title = fmt::format("{} {}: {}", culprits, did, RoundsText(analysis, incident));
  finding.why = Why(divergence);
  finding.fix =
      "exchange in every round on every rank: a rank without data sends an empty message, and one "
      "with an error goes on to the exchange";
  if (incident.exit) finding.fix = ExitFix(*incident.exit, operation);
  return finding;
}

}  // namespace

std::optional<Finding> JudgeRankConditionalCollective(const Analysis& analysis,
                                                      const Incident& incident,
                                                      const Divergence& divergence) {
  if (!Fits(analysis, incident, divergence)) return std::nullopt;
  if (incident.what == Incident::What::kRounds) {
    return JudgeSkippedRound(analysis, incident, divergence);
  }
  Finding finding =
      Draft(analysis, incident, VerdictKind::kRankConditionalCollective, !divergence.skipped);
  const std::string call = NumberedCall(analysis, incident, finding.operation);
  const std::vector<int32_t> deviating = analysis.RanksOf(incident.deviating);
  const std::vector<int32_t> agreeing = analysis.RanksOf(incident.agreeing);
  const Event* instead = divergence.skipped ? incident.deviating_event : incident.agreeing_event;
  const std::string other = instead == nullptr ? "" : OtherCall(analysis, incident, *instead);
  const uint64_t showed_at = incident.Of<CallDetails>().showed_at;
  if (incident.tie) {
    const std::vector<int32_t>& made = divergence.skipped ? agreeing : deviating;
    const std::vector<int32_t>& skipped = divergence.skipped ? deviating : agreeing;
    const std::string instead_text = divergence.order_open
                                         ? fmt::format("continued to {} instead", other)
                                     : other.empty() ? "did not"
                                                     : "did not and continued to " + other;
    finding.title = fmt::format("{} called {}, {} {}: {} against {}", RanksPhrase(made), call,
                                RanksPhrase(skipped), instead_text,
                                made.size() == 1 ? "one" : fmt::format("{}", made.size()),
                                skipped.size() == 1 ? "one" : fmt::format("{}", skipped.size()));
  } else if (divergence.skipped) {
    finding.title =
        incident.exit ? fmt::format("{} {}, without {}", RanksPhrase(deviating),
                                    ExitText(*incident.exit), call)
        : divergence.order_open
            ? fmt::format("{} continued to {} instead of {}", RanksPhrase(deviating), other, call)
            : fmt::format("{} skipped {}", RanksPhrase(deviating), call);
    if (incident.what == Incident::What::kShift || showed_at != 0) {
      finding.title += "; since then its calls match the wrong calls of the other ranks";
    } else if (!finding.waiting.empty()) {
      finding.title += fmt::format("; {} in it", RanksPhrase(finding.waiting, "waits", "wait"));
    }
  } else {
    finding.title = fmt::format("only {} called {}; {} continued to {}", RanksPhrase(deviating),
                                call, RanksPhrase(agreeing), other);
  }
  finding.why = Why(divergence);
  if (incident.tie) AddExitNote(incident, RanksPhrase(deviating), &finding);
  if (incident.what == Incident::What::kShift && incident.Of<CallDetails>().each_time) {
    finding.why += "; from there on the histories differ by this call alone";
  } else if (incident.what == Incident::What::kShift) {
    finding.why += fmt::format("; from there on the histories are equal when shifted by {}",
                               CountText(incident.Of<CallDetails>().shifted_by, "call"));
  }
  if (showed_at != 0) {
    finding.notes.push_back(fmt::format(
        "no rank waited there, as both sides made a call of one kind; it showed at #{}: {} called "
        "{}, {} {}",
        showed_at, RanksPhrase(deviating), incident.mismatch.deviating_value, RanksPhrase(agreeing),
        incident.mismatch.agreeing_value));
  }
  finding.fix = fmt::format("call {} on every rank; keep only the side effect under the condition",
                            finding.called);
  if (incident.exit) finding.fix = ExitFix(*incident.exit, finding.called);
  // A loop that ended early, or calls in another order, would leave the same histories.
  if (divergence.order_open) {
    const std::vector<int32_t>& skipped = divergence.skipped ? deviating : agreeing;
    finding.notes.push_back(fmt::format("either {} {}, under a condition",
                                        RanksPhrase(skipped, "skips", "skip"), finding.called));
    finding.notes.push_back(OtherReading(analysis, incident, instead, skipped));
  }
  std::string condition = ConditionNote(analysis, incident, divergence);
  if (!condition.empty()) finding.notes.push_back(std::move(condition));
  return finding;
}

}  // namespace rollcall
