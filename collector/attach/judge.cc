#include "collector/attach/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "collector/attach/judge_absent.h"
#include "collector/attach/judge_waiting.h"
#include "collector/attach/judgement.h"
#include "collector/diagnosis/culprit_hosts.h"
#include "collector/model/rank_set.h"

namespace rollcall::attach {
namespace {

class JobReport {
 public:
  JobReport(const FoundJob& job, const RankStates& rank_states)
      : judgement_(job, rank_states), ranks_(judgement_.ranks) {}

  Report Run() {
    report_.ranks = static_cast<uint32_t>(judgement_.rank_states.ranks.size());
    report_.ranks_expected = static_cast<uint32_t>(std::max(judgement_.job.size, 0));
    report_.hosts =
        judgement_.rank_states.cores
            ? 0
            : CountHosts(judgement_.rank_states.trace);  // a core does not name its host
    report_.status =
        judgement_.rank_states.cores ? Report::Status::kStopped : Report::Status::kRunning;
    NoteMissing();
    if (!ranks_.unreadable.empty()) return Unreadable();
    if (!ranks_.moving.empty()) return Moving();
    if (ranks_.waiting.empty() && !(judgement_.rank_states.cores && !ranks_.gone.empty())) {
      const std::vector<int32_t> stopped = Stopped();
      report_.notes.push_back(stopped.empty()
                                  ? "no rank waits for another rank in a known call"
                                  : fmt::format("{} {} stopped, by a signal or a debugger",
                                                RanksPhrase(stopped), Verb(stopped, "is", "are")));
      return std::move(report_);
    }
    if (!JudgeAbsent(&judgement_, &report_)) JudgeWaiting(judgement_, &report_);
    return std::move(report_);
  }

 private:
  std::vector<int32_t> Stopped() const {
    std::vector<const RankState*> stopped;
    std::copy_if(
        ranks_.outside.begin(), ranks_.outside.end(), std::back_inserter(stopped),
        [](const RankState* rank) { return rank->activity_level == ActivityLevel::kStopped; });
    return RanksOf(stopped);
  }

  void NoteMissing() {
    if (ranks_.missing.empty()) return;
    if (judgement_.rank_states.cores) {
      report_.notes.push_back(fmt::format("there is no core file of {} of {}",
                                          RanksPhrase(ranks_.missing), judgement_.job.size));
      return;
    }
    const std::string where = report_.hosts > 1
                                  ? fmt::format("on none of these {} hosts", report_.hosts)
                                  : "not on this machine";
    report_.notes.push_back(fmt::format(
        "{} of {} {} {}{}", RanksPhrase(ranks_.missing), judgement_.job.size,
        Verb(ranks_.missing, "is", "are"), where,
        judgement_.job.all_local ? ", although the launcher started all ranks here" : ""));
  }

  Report Unreadable() {
    Finding finding = judgement_.Draft(VerdictKind::kInconclusive, Certainty::kInconclusive);
    finding.hangs = false;
    const std::vector<int32_t> ranks = RanksOf(ranks_.unreadable);
    finding.title = fmt::format("the stack{} of {} could not be taken",
                                ranks.size() == 1 ? "" : "s", RanksPhrase(ranks));
    finding.why = ranks_.unreadable.front()->problem;
    judgement_.AddWaiting(&finding);
    for (const RankState* rank : ranks_.unreadable) {
      if (!rank->state.empty()) {
        finding.notes.push_back(fmt::format("rank {} is {}", rank->rank, rank->state));
      }
    }
    report_.findings.push_back(std::move(finding));
    return std::move(report_);
  }

  // A rank that moves may still arrive. If the others wait for it, it is shown.
  Report Moving() {
    constexpr size_t kMaxShown = 4;
    const std::vector<int32_t> moving = RanksOf(ranks_.moving);
    if (ranks_.waiting.empty()) {
      report_.notes.push_back(fmt::format("{} {} between the two samples", RanksPhrase(moving),
                                          Verb(moving, "moved", "moved")));
      return std::move(report_);
    }
    report_.notes.push_back(fmt::format("{}; {} {}", judgement_.WaitingText(), RanksPhrase(moving),
                                        Verb(moving, "moves", "move")));
    for (size_t i = 0; i < std::min(kMaxShown, ranks_.moving.size()); ++i) {
      const RankState& rank = *ranks_.moving[i];
      std::string text =
          fmt::format("rank {} is {}: {}", rank.rank, rank.timed ? "in a timed sleep" : rank.state,
                      judgement_.Place(rank));
      if (rank.may_act && Still(rank)) text += "; another of its threads may act";
      if (!rank.problem.empty()) text += fmt::format(" ({})", rank.problem);
      if (!rank.meaning.call.empty()) text += fmt::format(", in {}", rank.meaning.call);
      report_.notes.push_back(std::move(text));
    }
    return std::move(report_);
  }

  Judgement judgement_;
  const Positions& ranks_;
  Report report_;
};

}  // namespace

Report Judge(const FoundJob& job, const RankStates& rank_states) {
  Report report = JobReport(job, rank_states).Run();
  for (Finding& finding : report.findings) {
    if (report.hosts > 1) finding.culprit_hosts = HostsOf(rank_states.trace, finding);
  }
  return report;
}

}  // namespace rollcall::attach
