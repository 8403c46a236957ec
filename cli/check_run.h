// SPDX-License-Identifier: Apache-2.0
// One run of a job under `rollcall check`: until the job ends or hangs, and its judgement.
//
// A report from while the job ran may contain more than the report at its end, because rings
// overwrite old records. Of the two reports, the one with more failing findings is used.
#ifndef ROLLCALL_CLI_CHECK_RUN_H_
#define ROLLCALL_CLI_CHECK_RUN_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cli/bundle_output.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "cli/unrecorded_job.h"
#include "cli/watch_options.h"
#include "collector/check/policy.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/service/monitor.h"

namespace rollcall {

struct CheckOptions {
  WatchSettings watch{.stall_after_s = 300};  // a test that computes for long is not faulty
  double timeout_s = 0;
  std::string fail_on = "errors";
  std::string baseline;
  bool call_sites = false;
  bool allow_no_ranks = false;
  bool names_code = false;  // the verdict's trace gets the names of all code
  Outputs outputs;
  BundleSettings bundle;
  TextStyle style;
};

// One diagnosis of the job, and its report.
struct CheckVerdict {
  Trace trace;
  Report report = {};
  DiagnoseOptions diagnose = {};
  bool of_the_end = false;
};

struct CheckResult {
  CheckVerdict verdict;
  Judgement judgement;
  int code = 0;              // ExitCode
  std::string last_line;     // why
  bool interrupted = false;  // this process was asked to stop
  // The reason why a steered run did not follow its plan; empty if the run followed it. If the
  // steering may have caused the findings, they are dropped.
  std::string not_explored;
  std::string plan;  // its file, if the run directory is kept; empty: it is not
};

// Writes the verdict to stderr, which keeps it apart from the job's output.
void ShowVerdict(const CheckOptions& options, const CheckVerdict& verdict,
                 const Judgement& judgement);
// Writes the outputs; false if one cannot be written.
bool WriteOutputs(const CheckOptions& options, const CheckVerdict& verdict,
                  const Judgement& judgement);

// For one run. Not thread-safe. Construct it before anything else that starts a thread, or when the
// object before it is gone.
class CheckRun {
 public:
  // Returns whether the verdict is shown. A run with findings leaves its directory only if its
  // verdict is shown. Called once, when the job is over. If empty, every verdict is shown.
  using Shows = std::function<bool(const CheckResult&)>;

  CheckRun(CheckOptions options, const Policy& policy, Shows shows = {});

  // Empty if the job could not be started; the reason has been printed.
  // `on_start`: called when the job has its descriptors.
  std::optional<CheckResult> Run(const std::function<void()>& on_start = [] {});

 private:
  int64_t TimeLimitNs() const;
  void See(const Trace& trace, const Report& report);
  void SeeDue(const Report& report);
  void SeeHolds();
  UnrecordedJob::Options Unrecorded();
  void Withdraw(const service::Withdrawal& withdrawal);
  DiagnoseOptions OfTheEnd(const WatchedJob::End& end) const;
  CheckVerdict Judged(service::Monitor::Final* final, const WatchedJob::End& end);
  size_t Failing(const Report& report) const;
  CheckResult Conclude(const WatchedJob::End& end, JobOutcome outcome);
  std::string ReasonInSteering(const WatchedJob::End& end, const CheckResult& result) const;
  void NoteSteering(const WatchedJob::End& end, CheckResult* result);
  int Summary(const Judgement& judgement, const WatchedJob::End& end, const std::string& no_ranks,
              std::string* line) const;

  const CheckOptions options_;
  const Policy& policy_;
  const Shows shows_;
  std::mutex mutex_;
  std::optional<CheckVerdict> seen_;
  std::optional<CheckVerdict> stacks_;  // of ranks that do not record
  bool held_ = false;                   // the steering made a call wait when the job was judged
  BundleOutput bundle_;
  WatchedJob job_;  // its callbacks use those above
  std::optional<UnrecordedJob> unrecorded_;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_CHECK_RUN_H_
