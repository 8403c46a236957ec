// SPDX-License-Identifier: Apache-2.0
// rollcall run: runs a job and watches it.
//
// The job has priority. If a part of rollcall cannot be set up, one line reports it, and this
// process becomes the launcher.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/argument_parser.h"
#include "cli/bundle_output.h"
#include "cli/command.h"
#include "cli/report_output.h"
#include "cli/unrecorded_job.h"
#include "cli/watch_options.h"
#include "collector/base/print_line.h"
#include "collector/base/result.h"

namespace rollcall {
namespace {

// The only exit code that is not the job's: rollcall ended the job. No launcher or shell uses it.
constexpr int kEndedByRollcall = 86;

constexpr std::string_view kExec = "exec:";
// The variable that names the bundle to the command of --on-hang.
constexpr const char* kBundleVariable = "ROLLCALL_BUNDLE";

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
                 .diagnose = options_.watch.Times().Options(),
                 .keep_json = !HangCommand().empty()}),
        bundle_(options_.bundle),
        job_(options_.watch) {}

  int Main() {
    Result<> runs = job_.SetUp({.on_report = output_.Printing(),
                                .on_update = output_.Storing(),
                                .on_due = OnDue(),
                                .on_withdrawal = bundle_.ForWithdrawals(),
                                .evidence = bundle_.ForMonitor()});
    bool bare = !runs;
    if (runs) runs = job_.Start(&bare);
    if (bare) job_.RunBare(runs.error());
    if (!runs && !bare) PrintLine(runs.error());
    if (!runs) return kUsage;
    unrecorded_.emplace(Unrecorded());
    WatchedJob::End end = job_.Wait();
    unrecorded_->Stop();
    if (end.by_rollcall) end.exit_code = kEndedByRollcall;
    Conclude(end);
    return end.exit_code;
  }

 private:
  // The COMMAND of --on-hang=exec:COMMAND, or "".
  std::string HangCommand() const {
    return options_.on_hang.starts_with(kExec) ? options_.on_hang.substr(kExec.size()) : "";
  }
  std::function<void(const Report&)> OnDue();
  UnrecordedJob::Options Unrecorded();
  void Conclude(const WatchedJob::End& end);

  const RunOptions options_;
  ReportOutput output_;
  BundleOutput bundle_;
  WatchedJob job_;  // its callbacks use those above
  std::optional<UnrecordedJob> unrecorded_;
};

UnrecordedJob::Options Run::Unrecorded() {
  UnrecordedJob::Options options = UnrecordedOptions(options_.watch, job_);
  options.on_report = output_.Printing();
  options.on_withdrawal = [this](const Trace& trace, const Report& report) {
    PrintLine(kStacksWithdrawn);
    output_.Store(trace, report, /*job_ended=*/false, /*only_if_none=*/false);
  };
  return options;
}

std::function<void(const Report&)> Run::OnDue() {
  if (options_.on_hang == "kill") {
    return [this](const Report& report) { job_.RequestEnd(report, "--on-hang=kill"); };
  }
  if (HangCommand().empty()) return {};
  return [this](const Report&) {
    std::map<std::string, std::string> variables = options_.outputs.Variables();
    const std::string bundle = bundle_.WrittenFile();
    if (!bundle.empty()) variables[kBundleVariable] = bundle;
    job_.RequestCommand({.shell_command = HangCommand(),
                         .input = output_.Json(),
                         .variables = std::move(variables)});
  };
}

void Run::Conclude(const WatchedJob::End& end) {
  const service::Monitor::Final final = job_.Finish({.name_code = output_.ShowsTraces()});
  if (final.is_new) {
    output_.Print(final.trace, final.report, /*job_ended=*/true);
    bundle_.Write(final.report, final.evidence);
  } else {
    const bool stood_still = unrecorded_->stands_still() && !final.ranks_seen;
    const bool went_on = stood_still && end.exit_code == 0;
    if (went_on) PrintLine(kStacksWithdrawn);
    std::optional<WatchedJob::LogVerdict> logs;
    if (!final.ranks_seen && !stood_still) logs = job_.VerdictOfLogs(end);
    if (logs) {
      output_.Print(logs->trace, logs->report, /*job_ended=*/true);
    } else {
      output_.Store(final.trace, final.report, /*job_ended=*/true,
                    final.any_findings || (stood_still && !went_on));
    }
  }
  const std::string unrecorded = job_.Unrecorded(end, final.ranks_seen, unrecorded_->Text());
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
             "report: print the verdict and let the job run; kill: end the job; exec:COMMAND: run "
             "a shell command, with the verdict as JSON on its standard input (docs/live.md)",
             {.type = "report|kill|exec:COMMAND",
              .offered = {"report", "kill", "exec:"},
              .show_default = true});
  parser.AddCheck("--on-hang", [&options]() -> std::string {
    const std::string& value = options.on_hang;
    if (value == "report" || value == "kill") return "";
    return value.starts_with(kExec) && value.size() > kExec.size()
               ? ""
               : "it must be report, kill or exec:COMMAND";
  });
  options.outputs.AddOptions(&parser, Outputs::StandardOutput::kJob);
  options.bundle.AddOptions(&parser);
  options.style.AddOptions(&parser);
  AddWatchOptions(&parser, &options.watch);
  if (const auto code = parser.Parse(argc, argv)) return *code;
  return Run(std::move(options)).Main();
}

}  // namespace rollcall
