// SPDX-License-Identifier: Apache-2.0
// rollcall check: runs a job until it ends or hangs, and judges it; for continuous integration.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/check_run.h"
#include "cli/check_schedules.h"
#include "cli/command.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/result.h"
#include "collector/check/policy.h"

namespace rollcall {
namespace {

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

int CheckOnce(const CheckOptions& options, const Policy& policy) {
  const std::optional<CheckResult> result = CheckRun(options, policy).Run();
  if (!result) return kUsage;
  const bool written = WriteOutputs(options, result->verdict, result->judgement);
  // A verdict has a note of it.
  if (result->code == kNothingFound && !result->not_explored.empty()) {
    PrintLine("the plan was not followed: " + result->not_explored);
  }
  PrintLine(result->last_line);
  return written ? result->code : kUsage;
}

}  // namespace

int RunCheck(int argc, char** argv) {
  ArgumentParser parser(
      "Runs a job until it ends or hangs, diagnoses it, and fails if there is a finding.",
      "rollcall check");
  CheckOptions options;
  uint64_t schedules = 0;
  uint64_t seed = 1;
  std::string replay;
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
  parser.Add("--schedules", &schedules,
             "if the job passes, run it so many times more, each along another schedule that MPI "
             "permits (docs/schedules.md)",
             {.type = "N", .most = kMaxSchedules});
  parser.Add("--seed", &seed, "chooses among the schedules that are equally suspicious",
             {.show_default = true, .needs = "--schedules"});
  parser.Add("--replay", &replay, "steer the job by the plan that --schedules left of a hang",
             {.type = "FILE", .excludes = "--schedules"});
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
  if (!replay.empty()) {
    Result<std::string> plan = ReadPlan(replay);
    if (!plan) {
      PrintLine(plan.error());
      return kUsage;
    }
    options.watch.plan = *plan;
  }
  if (schedules != 0) return CheckSchedules(options, policy, schedules, seed);
  return CheckOnce(options, policy);
}

}  // namespace rollcall
