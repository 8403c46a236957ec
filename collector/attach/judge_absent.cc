#include "collector/attach/judge_absent.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collector/model/rank_set.h"

namespace rollcall::attach {
namespace {

class AbsentRanks {
 public:
  AbsentRanks(Judgement* judgement, Report* report)
      : judgement_(*judgement), ranks_(judgement->ranks), report_(report) {}

  bool Run() { return Outside() || Ended(); }

 private:
  std::string RemainingProcessText(const RankState& rank) const {
    const Process& process = judgement_.rank_states.trace.processes[rank.process];
    return fmt::format(
        "its process {} ({}) has not loaded MPI, and the other ranks are past MPI_Init: the rank's "
        "program ended, and the process that started it remains",
        process.pid, process.executable);
  }

  // Handles ranks outside every wait that others are in. True if there are any.
  bool Outside() {
    if (ranks_.gone.empty() && ranks_.outside.empty()) return false;
    if (judgement_.rank_states.cores && !ranks_.gone.empty()) return Crashed();
    const std::string others = judgement_.WaitingText();
    if (!ranks_.gone.empty()) {
      const std::vector<int32_t> ranks = RanksOf(ranks_.gone);
      const bool gone = ranks_.gone.front()->gone;
      Finding finding = judgement_.Draft(VerdictKind::kRankDied,
                                         gone ? Certainty::kLikely : Certainty::kSuspected);
      finding.culprits = ranks;
      finding.culprit_gone = gone;
      finding.title = fmt::format("{} ended; {}", RanksPhrase(ranks), others);
      finding.why = gone ? "its process has ended or is a zombie"
                         : RemainingProcessText(*ranks_.gone.front());
      judgement_.AddWaiting(&finding);
      judgement_.Add(std::move(finding), report_);
      return true;
    }
    std::vector<const RankState*> leaving;
    std::vector<const RankState*> stalled;
    for (const RankState* rank : ranks_.outside) {
      (rank->meaning.meaning == FrameMeaning::kExit ? leaving : stalled).push_back(rank);
    }
    if (!stalled.empty()) Stalled(stalled, others);
    if (!leaving.empty()) Leaving(leaving, others);
    return true;
  }

  // Handles ranks whose cores say that they ended by themselves, whether or not others wait.
  bool Crashed() {
    const std::vector<int32_t> ranks = RanksOf(ranks_.gone);
    Finding finding = judgement_.Draft(VerdictKind::kRankDied, Certainty::kLikely);
    finding.culprits = ranks;
    finding.culprit_gone = true;
    finding.hangs = !ranks_.waiting.empty();
    finding.title = fmt::format("{} {} ended by {}", RanksPhrase(ranks), Verb(ranks, "was", "were"),
                                ranks_.gone.front()->fault);
    if (finding.hangs) finding.title += "; " + judgement_.WaitingText();
    finding.why = "its core file says so";
    judgement_.AddWaiting(&finding);
    for (const RankState* rank : ranks_.gone) {
      finding.sites.push_back(judgement_.SiteOf(*rank, {rank->rank}, Site::Role::kEnded, true));
    }
    judgement_.Add(std::move(finding), report_);
    return true;
  }

  void Stalled(const std::vector<const RankState*>& stalled, const std::string& others) {
    const std::vector<int32_t> ranks = RanksOf(stalled);
    const RankState& first = *stalled.front();
    const bool stopped = first.activity_level == ActivityLevel::kStopped;
    // A user may have stopped it because the job hung: if the others diverge anyway, it is no
    // explanation.
    const bool explains = stopped && ranks_.waiting.size() == 1;
    Finding finding = judgement_.Draft(VerdictKind::kRankStalled,
                                       explains ? Certainty::kLikely : Certainty::kSuspected);
    finding.culprits = ranks;
    finding.title = fmt::format(
        "{} {} {}, and {}", RanksPhrase(ranks), Verb(ranks, "is", "are"),
        stopped && Waits(first) ? "stopped in " + first.meaning.call : "outside every call",
        others);
    finding.why = judgement_.rank_states.cores
                      ? "it had not arrived there when its core was written"
                  : stopped ? "it is stopped, by a signal or a debugger"
                  : first.stillness == Stillness::kAsleep
                      ? "it did not run between the two samples"
                      : "it runs, and nothing on its stack or in its registers changed between the "
                        "two samples";
    if (stopped) finding.fix = fmt::format("continue {}, and attach again", RanksPhrase(ranks));
    judgement_.AddWaiting(&finding);
    for (const RankState* rank : stalled) {
      finding.sites.push_back(judgement_.SiteOf(*rank, {rank->rank}, Site::Role::kStalled, true));
      AddAwaited(*rank, &finding);
    }
    judgement_.Add(std::move(finding), report_);
  }

  void Leaving(const std::vector<const RankState*>& leaving, const std::string& others) {
    const std::vector<int32_t> ranks = RanksOf(leaving);
    const bool finalizes = leaving.front()->meaning.operation == Operation::kFinalize;
    Finding finding = judgement_.Draft(
        finalizes ? VerdictKind::kFinalizedEarly : VerdictKind::kRankDied, Certainty::kLikely);
    finding.culprits = ranks;
    finding.title =
        fmt::format("{} {} exiting{}, and {}", RanksPhrase(ranks), Verb(ranks, "is", "are"),
                    finalizes ? ", in MPI_Finalize" : "", others);
    judgement_.AddWaiting(&finding);
    if (!finalizes) finding.why = fmt::format("it is in {}", leaving.front()->meaning.call);
    for (const RankState* rank : leaving) {
      finding.sites.push_back(judgement_.SiteOf(*rank, {rank->rank}, Site::Role::kEnded, true));
      AddAwaited(*rank, &finding);
    }
    judgement_.Add(std::move(finding), report_);
  }

  static void AddAwaited(const RankState& rank, Finding* finding) {
    for (const std::string& awaited : rank.awaited) {
      finding->notes.push_back(fmt::format("rank {}: {}", rank.rank, awaited));
    }
  }

  // A rank in MPI_Finalize makes no further call, and a rank without a process makes none either.
  bool Ended() {
    const auto finalizes = [](const Group& group) {
      return group.front().meaning.operation == Operation::kFinalize;
    };
    const bool some = std::any_of(ranks_.waiting.begin(), ranks_.waiting.end(), finalizes);
    const bool all = std::all_of(ranks_.waiting.begin(), ranks_.waiting.end(), finalizes);
    if (some && !all) {
      std::vector<const RankState*> leaving;
      for (const Group& group : ranks_.waiting) {
        if (finalizes(group))
          leaving.insert(leaving.end(), group.members.begin(), group.members.end());
      }
      std::erase_if(ranks_.waiting, finalizes);
      // The sender of an awaited message is unknown: a finalizing rank may have nothing to do with
      // it.
      const bool messages = std::all_of(ranks_.waiting.begin(), ranks_.waiting.end(), IsOfMessages);
      Finding finding = messages
                            ? judgement_.Draft(VerdictKind::kP2pUnmatched, Certainty::kSuspected)
                            : judgement_.Draft(VerdictKind::kFinalizedEarly, Certainty::kLikely);
      const std::vector<int32_t> finalizing = RanksOf(leaving);
      if (!messages) {
        finding.culprits = finalizing;
      } else if (!ClearWindowCulprits(ranks_, &finding)) {
        finding.culprits = std::exchange(finding.waiting, {});
      }
      finding.title = fmt::format("{} {} in MPI_Finalize, and {}", RanksPhrase(finalizing),
                                  Verb(finalizing, "is", "are"), judgement_.WaitingText());
      judgement_.AddWaiting(&finding);
      for (Site& site : finding.sites) site.culprit = messages && !finding.culprits.empty();
      finding.sites.push_back(
          judgement_.SiteOf(*leaving.front(), finalizing, Site::Role::kEnded, !messages));
      judgement_.Add(std::move(finding), report_);
      return true;
    }
    if (ranks_.missing.empty()) return false;
    // Ranks that wait in MPI_Init wait for ranks that are still to be started; a job that finalizes
    // is ending.
    const bool starts = std::any_of(ranks_.waiting.begin(), ranks_.waiting.end(),
                                    [](const Group& group) { return group.kind() == Kind::kInit; });
    if (starts || all) return true;
    if (!judgement_.job.all_local) return false;
    Finding finding = judgement_.Draft(VerdictKind::kRankDied, Certainty::kLikely);
    finding.culprits = ranks_.missing;
    finding.culprit_gone = true;
    finding.title = fmt::format("there is no process of {}, and {}", RanksPhrase(ranks_.missing),
                                judgement_.WaitingText());
    finding.why = "the launcher started all ranks on this machine";
    judgement_.AddWaiting(&finding);
    judgement_.Add(std::move(finding), report_);
    return true;
  }

  Judgement& judgement_;
  Positions& ranks_;
  Report* report_;
};

}  // namespace

bool JudgeAbsent(Judgement* judgement, Report* report) {
  return AbsentRanks(judgement, report).Run();
}

}  // namespace rollcall::attach
