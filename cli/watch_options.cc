// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_options.h"

#include <algorithm>
#include <string>

#include "cli/argument_parser.h"

namespace rollcall {

void AddWatchOptions(ArgumentParser* parser, WatchSettings* settings) {
  parser->Add("--stall-after", &settings->stall_after_s,
              "seconds without progress before a rank is called stalled",
              {.must = Must::kBePositive, .show_default = true});
  parser->Add("--idle-after", &settings->idle_after_s,
              "seconds after which a rank that waits for a client or for another process outside "
              "the job is called stalled as well (default: never)",
              {.must = Must::kBePositive});
  parser->Add("--kill-after", &settings->kill_after_s,
              "seconds without progress before a job that likely hangs is ended; a proven hang is "
              "ended at once",
              {.must = Must::kBeNonNegative, .show_default = true});
  parser->Add("--dir", &settings->directory, "the run directory; kept after the run",
              {.type = "DIR"});
  parser->Add("--listen", &settings->listen,
              "HOST:PORT for agents of other nodes; port 0 takes any free one",
              {.show_default = true});
  parser->Add("--keep", &settings->keep, "keep the run directory even if the job ends cleanly");
  parser->Add("--no-stacks", &settings->no_stacks,
              "do not record call paths and do not take live stacks");
  parser->Add("--verbose", &settings->verbose, service::kVerboseHelp);
  parser->Add(
      "--data", &settings->data,
      "read the data of MPI collectives, to find NaN and results that differ: some words of "
      "each buffer, or all (docs/data.md)",
      {.one_of = {"off", "sampled", "full"}});
  parser->Add("--data-scope", &settings->data_scope,
              "functions (MPI_Allreduce) and names of communicators to which --data is limited, "
              "separated by commas");
  parser->Add(
      "--log", &settings->logs,
      "a file or directory to which the job writes its output; what is appended to it during "
      "the run adds ends and exceptions to the verdict; may be repeated (docs/logs.md)",
      {.type = "FILE|DIR", .one_per_use = true});
  parser->AddCheck("--log", [settings]() -> std::string {
    return std::ranges::count(settings->logs, "-") == 0
               ? ""
               : "the job's output does not pass through rollcall: name the file that it goes to";
  });
  parser->Add("command", &settings->command, "the launcher and its arguments, after --",
              {.required = true});
  parser->StopAtFirstPositional();
}

UnrecordedJob::Options UnrecordedOptions(const WatchSettings& settings, const WatchedJob& job) {
  return {.command = settings.command,
          .launcher = job.launcher(),
          .run_directory = job.directory(),
          .stall_after_ns = settings.Times().stall_after_ns,
          .take_stacks = !settings.no_stacks,
          .recorded = [&job] { return job.ranks_seen(); },
          .interrupted = [&job] { return job.interrupted(); },
          .on_report = {},
          .on_withdrawal = {}};
}

}  // namespace rollcall
