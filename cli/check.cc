// SPDX-License-Identifier: Apache-2.0
// rollcall check: runs a job until it ends or hangs, and judges it; for continuous integration.
//
// A report from while the job ran may contain more than the report at its end, because rings
// overwrite old records. Of the two reports, the one with more failing findings is used.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/bundle_output.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "cli/unrecorded_job.h"
#include "cli/watch_options.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/result.h"
#include "collector/check/policy.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/model/rank_set.h"
#include "collector/model/signal_name.h"
#include "collector/service/active_findings.h"

namespace rollcall {
namespace {

struct CheckOptions {
  WatchSettings watch{.stall_after_s = 300};  // a test that computes for long is not faulty
  double timeout_s = 0;
  std::string fail_on = "errors";
  std::string baseline;
  bool call_sites = false;
  bool allow_no_ranks = false;
  Outputs outputs;
  BundleSettings bundle;
  TextStyle style;
};

// One diagnosis of the job, and its report.
struct Verdict {
  Trace trace;
  Report report = {};
  DiagnoseOptions diagnose = {};
  bool of_the_end = false;
};

// Returns false, with lines on stderr, if the file cannot be read or has an invalid entry.
bool ReadBaseline(const std::string& path, Baseline* baseline) {
  const std::optional<std::string> text = ReadWholeFile(path);
  if (!text) {
    PrintLine(path + ": cannot be read");
    return false;
  }
  std::vector<std::string> errors;
  *baseline = ParseBaseline(*text, path, &errors);
  for (const std::string& error : errors) PrintLine(error);
  return errors.empty();
}

class Check {
 public:
  Check(CheckOptions options, Policy policy)
      : options_(std::move(options)),
        policy_(std::move(policy)),
        bundle_(options_.bundle),
        job_(options_.watch) {}

  int Main() {
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
         .on_time_up = [this] { unrecorded_->Look(); },
         .evidence = bundle_.ForMonitor()});
    bool no_room = false;
    const auto begin = std::chrono::steady_clock::now();
    if (runs) runs = job_.Start(&no_room);
    if (!runs) {
      PrintLine(runs.error());
      return kUsage;
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

 private:
  int64_t TimeLimitNs() const {
    return options_.timeout_s > 0 ? static_cast<int64_t>(options_.timeout_s * 1e9) : -1;
  }

  // Called on the monitor's thread. Keeps a copy of the newest report; a report of a hang is
  // replaced only by another one.
  void See(const Trace& trace, const Report& report) {
    const bool hung = report.status == Report::Status::kHung;
    const std::lock_guard lock(mutex_);
    const bool was_hung = seen_ && seen_->report.status == Report::Status::kHung;
    if (!hung && was_hung) return;
    seen_ = Verdict{.trace = trace, .report = report, .diagnose = options_.watch.Times().Options()};
  }

  // The newest diagnosis found the same as before, at a later time. It is the diagnosis that ends
  // the job.
  void SeeDue(const Report& report) {
    const std::lock_guard lock(mutex_);
    if (seen_) seen_->report.no_progress_ns = report.no_progress_ns;
  }

  UnrecordedJob::Options Unrecorded() {
    UnrecordedJob::Options options = UnrecordedOptions(options_.watch, job_);
    options.on_report = [this](const Trace& trace, const Report& report) {
      // The job may run forever, and the report is printed at its end only.
      for (const Finding& finding : report.findings) PrintLine("suspected: " + finding.title);
      const std::lock_guard lock(mutex_);
      stacks_ = Verdict{.trace = trace, .report = report};
    };
    options.on_withdrawal = [](const Trace&, const Report&) { PrintLine(kStacksWithdrawn); };
    return options;
  }

  // Removes withdrawn findings, as if they had never been found.
  void Withdraw(const service::Withdrawal& withdrawal) {
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

  DiagnoseOptions OfTheEnd(const WatchedJob::End& end) const {
    DiagnoseOptions diagnose = options_.watch.Times().Options();
    diagnose.job_ended = true;
    diagnose.judge_buffering = true;
    diagnose.judge_end = true;
    diagnose.compare_call_sites = options_.call_sites;
    diagnose.time_limit_ns = end.timed_out ? TimeLimitNs() : -1;
    return diagnose;
  }

  // Chooses between the report from while the job ran and the report at its end.
  Verdict Judged(service::Monitor::Final* final, const WatchedJob::End& end) {
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
    Verdict last{.trace = std::move(final->trace),
                 .report = std::move(final->report),
                 .diagnose = OfTheEnd(end),
                 .of_the_end = true};
    return seen_ && Failing(seen_->report) > Failing(last.report) ? std::move(*seen_)
                                                                  : std::move(last);
  }

  size_t Failing(const Report& report) const {
    std::vector<std::string> unused;
    return Count(Judge(report, policy_, &unused), Ruling::Weight::kFails);
  }

  int Conclude(const WatchedJob::End& end, JobOutcome outcome) {
    service::Monitor::Final final =
        job_.Finish({.diagnose = OfTheEnd(end), .name_code = !options_.outputs.empty()});
    const bool ranks_seen = final.ranks_seen;
    const std::string what_ran = unrecorded_->Text();
    const std::string unrecorded = job_.Unrecorded(end, ranks_seen, what_ran);
    const Verdict verdict = Judged(&final, end);
    std::vector<std::string> unused;
    Judgement judgement{.rulings = Judge(verdict.report, policy_, &unused),
                        .job = std::move(outcome)};
    // A report from while the job ran already has its bundle.
    if (verdict.of_the_end && judgement.Fails()) {
      bundle_.Write(verdict.report, final.evidence);
    }
    const bool written = Show(verdict, judgement);
    for (const std::string& line : unused) PrintLine(line);
    job_.Close(end, judgement.Fails() && ranks_seen);
    // In other cases the last line contains it.
    const bool failed = judgement.Fails() || end.exit_code != 0;
    const bool here = ranks_seen || end.by_rollcall || (failed && !what_ran.empty());
    if (here && !unrecorded.empty()) PrintLine(unrecorded);
    const int code = Summary(judgement, end, ranks_seen ? "" : unrecorded);
    return written ? code : kUsage;
  }

  // Writes the text to stderr, which keeps it apart from the job's output, and the outputs.
  bool Show(const Verdict& verdict, const Judgement& judgement) const {
    Subject subject{.trace = verdict.trace,
                    .report = verdict.report,
                    .diagnose = verdict.diagnose,
                    .judgement = judgement,
                    .text = options_.style.For(STDERR_FILENO),
                    .source_root = options_.outputs.SourceRoot(),
                    .version = ROLLCALL_VERSION};
    ExportText(subject, std::cerr);
    subject.text.color = false;
    return options_.outputs.Write(subject);
  }

  // Prints the last line and returns the exit code that it explains. `no_ranks`: a message that no
  // rank was seen, and why; or empty.
  int Summary(const Judgement& judgement, const WatchedJob::End& end,
              const std::string& no_ranks) const {
    const size_t fails = Count(judgement.rulings, Ruling::Weight::kFails);
    const size_t known = Count(judgement.rulings, Ruling::Weight::kKnown);
    std::string tail = known == 0 ? "" : fmt::format("; {} known from the baseline", known);
    const JobOutcome& job = *judgement.job;
    if (fails != 0) {
      PrintLine(fmt::format("check failed: {}{}", CountText(fails, "finding"), tail));
      return kFindings;
    }
    if (job.ended_by_rollcall || job.exit_code != 0) {
      std::string how = "the job had to be ended";
      if (!job.ended_by_rollcall) {
        how = end.signal != 0
                  ? "the job itself was ended by " + SignalName(end.signal)
                  : fmt::format("the job itself ended with exit code {}", job.exit_code);
        if (end.asked_to_stop != 0) {
          how += fmt::format(" after check had received {}", SignalName(end.asked_to_stop));
        }
      }
      PrintLine(fmt::format("check failed: {}{}", how, tail));
      return kJobFailed;
    }
    if (!no_ranks.empty() && !options_.allow_no_ranks && !unrecorded_->made_no_calls()) {
      PrintLine(fmt::format("check failed: {} (--allow-no-ranks permits it)", no_ranks));
      return kUsage;
    }
    if (!no_ranks.empty()) tail += "; " + no_ranks;
    PrintLine("check passed" + tail);
    return kNothingFound;
  }

  const CheckOptions options_;
  const Policy policy_;
  std::mutex mutex_;
  std::optional<Verdict> seen_;
  std::optional<Verdict> stacks_;  // of ranks that do not record
  BundleOutput bundle_;
  WatchedJob job_;  // its callbacks use those above
  std::optional<UnrecordedJob> unrecorded_;
};

}  // namespace

int RunCheck(int argc, char** argv) {
  ArgumentParser parser(
      "Runs a job until it ends or hangs, diagnoses it, and fails if there is a finding.",
      "rollcall check");
  CheckOptions options;
  parser.Add("--timeout", &options.timeout_s, "end the job after this time and report a finding",
             {.type = "SECONDS", .must = Must::kBePositive});
  parser.Add("--fail-on", &options.fail_on,
             "kinds of findings that fail the check: a list, 'errors', 'all' or 'none'",
             {.type = "KIND,...", .offered = {"errors", "all", "none"}, .show_default = true});
  parser.Add("--baseline", &options.baseline,
             "a file of known findings with reasons, which do not fail the check (docs/ci.md)",
             {.type = "FILE"});
  parser.Add("--call-sites", &options.call_sites,
             "report collectives that ranks call from different places");
  parser.Add("--allow-no-ranks", &options.allow_no_ranks, "do not fail if no rank initializes MPI");
  options.outputs.AddOptions(&parser, Outputs::StandardOutput::kOurs);
  options.bundle.AddOptions(&parser);
  options.style.AddOptions(&parser);
  AddWatchOptions(&parser, &options.watch);
  parser.SetFooter(
      "Exit codes: 0 nothing found, 1 findings, 2 usage or set-up, 3 the job itself failed, "
      "without a finding.");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  Policy policy;
  const Result<std::set<VerdictKind>> fail_on = ParseFailOn(options.fail_on);
  if (!fail_on) {
    PrintLine("--fail-on: " + fail_on.error());
    return kUsage;
  }
  policy.fail_on = *fail_on;
  if (!options.baseline.empty() && !ReadBaseline(options.baseline, &policy.baseline)) return kUsage;
  return Check(std::move(options), std::move(policy)).Main();
}

}  // namespace rollcall
