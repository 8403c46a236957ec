// SPDX-License-Identifier: Apache-2.0
#include "cli/check_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "collector/base/print_line.h"
#include "collector/model/rank_set.h"
#include "collector/model/signal_name.h"
#include "collector/schedules/schedule.h"
#include "collector/service/active_findings.h"

namespace rollcall {
namespace {

Subject SubjectOf(const CheckOptions& options, const CheckVerdict& verdict,
                  const Judgement& judgement) {
  Subject subject{.trace = verdict.trace,
                  .report = verdict.report,
                  .diagnose = verdict.diagnose,
                  .judgement = judgement,
                  .text = options.style.For(STDERR_FILENO),
                  .source_root = options.outputs.SourceRoot(),
                  .version = ROLLCALL_VERSION};
  return subject;
}

// Whether the finding is a death, and the process may have ended itself because a call took too
// long. A wrong call is wrong at any time. Other errors of MPI may tell of a peer that ended.
bool MayHaveEndedItself(const Trace& trace, const Finding& finding) {
  return finding.kind == VerdictKind::kRankDied &&
         std::ranges::none_of(finding.culprits, [&](int32_t rank) {
           const uint32_t process = ProcessOf(trace, finding.world, rank);
           if (process == kNoIndex) return false;
           const std::optional<ErrorClass>& error = trace.processes[process].ended_by;
           return error && (InfoOf(*error).rejects || *error == ErrorClass::kTRUNCATE);
         });
}

}  // namespace

void ShowVerdict(const CheckOptions& options, const CheckVerdict& verdict,
                 const Judgement& judgement) {
  ExportText(SubjectOf(options, verdict, judgement), std::cerr);
}

bool WriteOutputs(const CheckOptions& options, const CheckVerdict& verdict,
                  const Judgement& judgement) {
  Subject subject = SubjectOf(options, verdict, judgement);
  subject.text.color = false;
  return options.outputs.Write(subject);
}

CheckRun::CheckRun(CheckOptions options, const Policy& policy, Shows shows)
    : options_(std::move(options)),
      policy_(policy),
      shows_(std::move(shows)),
      bundle_(options_.bundle),
      job_(options_.watch) {}

std::optional<CheckResult> CheckRun::Run(const std::function<void()>& on_start) {
  const auto see = [this](const Trace& trace, const Report& report) { See(trace, report); };
  Result<> runs = job_.SetUp(
      {.on_report = see,
       .on_update = see,
       .on_due =
           [this](const Report& report) {
             SeeDue(report);
             job_.RequestEnd(report, "it hangs");
           },
       .on_withdrawal = [this](const service::Withdrawal& withdrawal) { Withdraw(withdrawal); },
       .on_time_up =
           [this] {
             SeeHolds();
             unrecorded_->Look();
           },
       .evidence = bundle_.ForMonitor()});
  bool no_room = false;
  const auto begin = std::chrono::steady_clock::now();
  if (runs) runs = job_.Start(&no_room);
  on_start();
  if (!runs) {
    PrintLine(runs.error());
    return std::nullopt;
  }
  unrecorded_.emplace(Unrecorded());
  const WatchedJob::End end = job_.Wait(TimeLimitNs());
  unrecorded_->Stop();
  if (end.by_rollcall) unrecorded_->KillRanks();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Conclude(end, {.command = options_.watch.command,
                        .exit_code = end.exit_code,
                        .ended_by_rollcall = end.by_rollcall,
                        .seconds = took.count()});
}

int64_t CheckRun::TimeLimitNs() const {
  return options_.timeout_s > 0 ? static_cast<int64_t>(options_.timeout_s * 1e9) : -1;
}

// Called on the monitor's thread. Keeps a copy of the newest report; a report of a hang is
// replaced only by another one.
void CheckRun::See(const Trace& trace, const Report& report) {
  const bool hung = report.status == Report::Status::kHung;
  const std::lock_guard lock(mutex_);
  const bool was_hung = seen_ && seen_->report.status == Report::Status::kHung;
  if (!hung && was_hung) return;
  seen_ =
      CheckVerdict{.trace = trace, .report = report, .diagnose = options_.watch.Times().Options()};
}

// The newest diagnosis found the same as before, at a later time. It is the diagnosis that ends
// the job.
void CheckRun::SeeDue(const Report& report) {
  SeeHolds();
  const std::lock_guard lock(mutex_);
  if (seen_) seen_->report.no_progress_ns = report.no_progress_ns;
}

void CheckRun::SeeHolds() {
  const std::lock_guard lock(mutex_);
  held_ = job_.steered() != nullptr && job_.steered()->Holds();
}

UnrecordedJob::Options CheckRun::Unrecorded() {
  UnrecordedJob::Options options = UnrecordedOptions(options_.watch, job_);
  options.on_report = [this](const Trace& trace, const Report& report) {
    // The job may run forever, and the report is printed at its end only.
    for (const Finding& finding : report.findings) PrintLine("suspected: " + finding.title);
    const std::lock_guard lock(mutex_);
    stacks_ = CheckVerdict{.trace = trace, .report = report};
  };
  options.on_withdrawal = [](const Trace&, const Report&) { PrintLine(kStacksWithdrawn); };
  return options;
}

// Removes withdrawn findings, as if they had never been found.
void CheckRun::Withdraw(const service::Withdrawal& withdrawal) {
  if (withdrawal.all) bundle_.Discard();
  const std::lock_guard lock(mutex_);
  if (!seen_) return;
  const std::vector<std::string>& keys = withdrawal.keys;
  std::erase_if(seen_->report.findings, [&](const Finding& finding) {
    const std::string key = service::FindingKey(seen_->trace, finding);
    return std::ranges::find(keys, key) != keys.end();
  });
  const bool hangs = std::ranges::any_of(seen_->report.findings, &Finding::hangs);
  if (!hangs) seen_->report.status = Report::Status::kRunning;
}

DiagnoseOptions CheckRun::OfTheEnd(const WatchedJob::End& end) const {
  DiagnoseOptions diagnose = options_.watch.Times().Options();
  diagnose.job_ended = true;
  diagnose.judge_buffering = true;
  diagnose.judge_end = true;
  diagnose.compare_call_sites = options_.call_sites;
  diagnose.time_limit_ns = end.timed_out ? TimeLimitNs() : -1;
  return diagnose;
}

// Chooses between the report from while the job ran and the report at its end.
CheckVerdict CheckRun::Judged(service::Monitor::Final* final, const WatchedJob::End& end) {
  const std::lock_guard lock(mutex_);
  if (seen_ && seen_->report.status == Report::Status::kHung) return std::move(*seen_);
  const bool stood_still = unrecorded_->stands_still() && !final->ranks_seen;
  const bool well = !end.by_rollcall && end.exit_code == 0;
  if (stood_still && stacks_ && !well) return std::move(*stacks_);
  std::optional<WatchedJob::LogVerdict> logs;
  if (!final->ranks_seen) logs = job_.VerdictOfLogs(end);
  if (logs) {
    return {.trace = std::move(logs->trace),
            .report = std::move(logs->report),
            .diagnose = logs->diagnose};
  }
  CheckVerdict last{.trace = std::move(final->trace),
                    .report = std::move(final->report),
                    .diagnose = OfTheEnd(end),
                    .of_the_end = true};
  return seen_ && Failing(seen_->report) > Failing(last.report) ? std::move(*seen_)
                                                                : std::move(last);
}

size_t CheckRun::Failing(const Report& report) const {
  std::vector<std::string> unused;
  return Count(Judge(report, policy_, &unused), Ruling::Weight::kFails);
}

CheckResult CheckRun::Conclude(const WatchedJob::End& end, JobOutcome outcome) {
  service::Monitor::Final final = job_.Finish(
      {.diagnose = OfTheEnd(end), .name_code = options_.names_code || !options_.outputs.empty()});
  const bool ranks_seen = final.ranks_seen;
  const std::string what_ran = unrecorded_->Text();
  const std::string unrecorded = job_.Unrecorded(end, ranks_seen, what_ran);
  CheckResult result;
  result.verdict = Judged(&final, end);
  result.interrupted = end.asked_to_stop != 0;
  std::vector<std::string> unused;
  result.judgement.rulings = Judge(result.verdict.report, policy_, &unused);
  result.judgement.job = std::move(outcome);
  result.code = Summary(result.judgement, end, ranks_seen ? "" : unrecorded, &result.last_line);
  if (job_.steered() != nullptr) NoteSteering(end, &result);
  const bool fails = result.judgement.Fails();
  const bool shows = !shows_ || shows_(result);
  // A report from while the job ran already has its bundle.
  if (result.verdict.of_the_end && fails) bundle_.Write(result.verdict.report, final.evidence);
  if (shows) {
    ShowVerdict(options_, result.verdict, result.judgement);
    for (const std::string& line : unused) PrintLine(line);
  }
  const bool keeps = fails ? ranks_seen : job_.steered() != nullptr && result.code != 0;
  if (job_.steered() != nullptr && shows && keeps) result.plan = job_.steered()->path();
  job_.Close(end, shows && keeps);
  // In other cases the last line contains it.
  const bool failed = fails || end.exit_code != 0;
  const bool here = ranks_seen || end.by_rollcall || (failed && !what_ran.empty());
  if (shows && here && !unrecorded.empty()) PrintLine(unrecorded);
  return result;
}

// Why the steering may be the reason for what was found; empty: it is not.
std::string CheckRun::ReasonInSteering(const WatchedJob::End& end,
                                       const CheckResult& result) const {
  const SteeredRun& steered = *job_.steered();
  const Report& report = result.verdict.report;
  const bool hangs = report.status == Report::Status::kHung ||
                     std::ranges::any_of(report.findings, &Finding::hangs);
  if (hangs && held_) return "ranks stood still while the steering made a call wait";
  if (hangs && steered.BarriersMayHang()) return steered.NotExplored();
  bool only_slow = end.timed_out && !hangs;
  bool only_died = end.asked_to_stop == 0;
  for (size_t i = 0; i < report.findings.size(); ++i) {
    if (result.judgement.rulings[i].weight != Ruling::Weight::kFails) continue;
    only_slow = only_slow && report.findings[i].kind == VerdictKind::kTimedOut;
    only_died = only_died && MayHaveEndedItself(result.verdict.trace, report.findings[i]);
  }
  if (only_slow && steered.Steers()) return "its time was up";
  return only_died && steered.GaveUp() ? steered.NotExplored() : "";
}

// What a reader of the verdict must know about the steering.
void CheckRun::NoteSteering(const WatchedJob::End& end, CheckResult* result) {
  result->not_explored = job_.steered()->NotExplored();
  if (result->code == kNothingFound) return;
  Report& report = result->verdict.report;
  if (std::string reason = ReasonInSteering(end, *result); !reason.empty()) {
    result->not_explored = std::move(reason);
    report.findings.clear();
    report.status = Report::Status::kStopped;
    result->judgement.rulings.clear();
    result->code = kNothingFound;
    result->last_line = "check passed: the schedule was not explored";
    bundle_.Discard();
    return;
  }
  if (!job_.steered()->Steers()) {
    result->not_explored = "not steered: this came about by itself";
    report.notes.push_back(result->not_explored);
    return;
  }
  const std::string title = TitleOf(options_.watch.plan);
  report.notes.push_back(fmt::format(
      "this run was steered: {}; `rollcall check --replay {}` steers the same way again",
      title.empty() ? "by a plan" : title, job_.steered()->path()));
  if (!result->not_explored.empty()) {
    report.notes.push_back("the plan was not followed: " + result->not_explored);
  }
}

// Returns the exit code, and the last line, which explains it. `no_ranks`: a message that no rank
// was seen, and why; or empty.
int CheckRun::Summary(const Judgement& judgement, const WatchedJob::End& end,
                      const std::string& no_ranks, std::string* line) const {
  const size_t fails = Count(judgement.rulings, Ruling::Weight::kFails);
  const size_t known = Count(judgement.rulings, Ruling::Weight::kKnown);
  std::string tail = known == 0 ? "" : fmt::format("; {} known from the baseline", known);
  const JobOutcome& job = *judgement.job;
  if (fails != 0) {
    *line = fmt::format("check failed: {}{}", CountText(fails, "finding"), tail);
    return kFindings;
  }
  if (job.ended_by_rollcall || job.exit_code != 0) {
    std::string how = "the job had to be ended";
    if (!job.ended_by_rollcall) {
      how = end.signal != 0 ? "the job itself was ended by " + SignalName(end.signal)
                            : fmt::format("the job itself ended with exit code {}", job.exit_code);
      if (end.asked_to_stop != 0) {
        how += fmt::format(" after check had received {}", SignalName(end.asked_to_stop));
      }
    }
    *line = fmt::format("check failed: {}{}", how, tail);
    return kJobFailed;
  }
  if (!no_ranks.empty() && !options_.allow_no_ranks && !unrecorded_->made_no_calls()) {
    *line = fmt::format("check failed: {} (--allow-no-ranks permits it)", no_ranks);
    return kUsage;
  }
  if (!no_ranks.empty()) tail += "; " + no_ranks;
  *line = "check passed" + tail;
  return kNothingFound;
}

}  // namespace rollcall
