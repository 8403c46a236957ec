// rollcall run: runs a job and watches it.
//
// The job has priority. If a part of rollcall cannot be set up, one line reports it, and the
// launcher still runs, with its own output and exit code.
#include <functional>
#include <string>
#include <utility>

#include "cli/argument_parser.h"
#include "cli/bundle_output.h"
#include "cli/command.h"
#include "cli/report_output.h"
#include "cli/watch_options.h"
#include "collector/base/print_line.h"

namespace rollcall {
namespace {

// The only exit code that is not the job's: rollcall ended the job. No launcher or shell uses it.
constexpr int kEndedByRollcall = 86;

struct RunOptions {
  WatchSettings watch;
  std::string on_hang = "report";
  Outputs outputs;
  BundleSettings bundle;
  TextStyle style;
};

class Run {
 public:
  explicit Run(RunOptions options)
      : options_(std::move(options)),
        output_({.style = options_.style,
                 .outputs = options_.outputs,
                 .diagnose = {.stall_after_ns = options_.watch.Times().stall_after_ns}}),
        bundle_(options_.bundle),
        job_(options_.watch) {}

  int Main() {
    std::string problem;
    const bool watching =
        job_.SetUp({.on_report =
                        [this](const Trace& trace, const Report& report) {
                          output_.Print(trace, report, /*job_ended=*/false);
                        },
                    .on_update =
                        [this](const Trace& trace, const Report& report) {
                          output_.Store(trace, report, /*job_ended=*/false, /*only_if_none=*/false);
                        },
                    .on_due = OnDue(),
                    .on_withdrawal =
                        [this](const service::Withdrawal& withdrawal) {
                          PrintLine(withdrawal.Text());
                          if (withdrawal.all) bundle_.Discard();
                        },
                    .on_evidence = bundle_.Callback()},
                   &problem);
    if (!watching) PrintLine(problem + "; the job runs without rollcall");
    if (!job_.Start()) return kUsage;
    WatchedJob::End end = job_.Wait();
    if (end.by_rollcall) end.exit_code = kEndedByRollcall;
    if (watching) Conclude(end);
    return end.exit_code;
  }

 private:
  std::function<void(const Report&)> OnDue();
  void Conclude(const WatchedJob::End& end);

  const RunOptions options_;
  ReportOutput output_;
  BundleOutput bundle_;
  WatchedJob job_;  // last: its callbacks use the others
};

std::function<void(const Report&)> Run::OnDue() {
  if (options_.on_hang != "kill") return {};
  return [this](const Report& report) { job_.RequestEnd(report, "--on-hang=kill"); };
}

void Run::Conclude(const WatchedJob::End& end) {
  const service::Monitor::Final final = job_.Finish({.name_code = output_.ShowsTraces()});
  if (final.is_new) {
    output_.Print(final.trace, final.report, /*job_ended=*/true);
    bundle_.Write(final.trace, final.report, final.evidence);
  } else {
    output_.Store(final.trace, final.report, /*job_ended=*/true, final.any_findings);
  }
  const std::string unrecorded = job_.Unrecorded(end, final.ranks_seen);
  if (!unrecorded.empty()) PrintLine(unrecorded);
  job_.Close(end, final.any_findings);
}

}  // namespace

int RunRun(int argc, char** argv) {
  ArgumentParser parser(
      "Runs a job and diagnoses it. Exits with the job's exit code, or with 86 if rollcall ended "
      "it.",
      "rollcall run");
  RunOptions options;
  parser.Add("--on-hang", &options.on_hang,
             "report: print the verdict and let the job run; kill: end the job",
             {.one_of = {"report", "kill"}, .show_default = true});
  options.outputs.AddOptions(&parser, Outputs::StandardOutput::kJob);
  options.bundle.AddOptions(&parser);
  options.style.AddOptions(&parser);
  AddWatchOptions(&parser, &options.watch);
  if (const auto code = parser.Parse(argc, argv)) return *code;
  return Run(std::move(options)).Main();
}

}  // namespace rollcall
