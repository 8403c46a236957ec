// SPDX-License-Identifier: Apache-2.0
#include "cli/check_schedules.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/output_sums.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/export/places.h"
#include "collector/launch/job_environment.h"
#include "collector/model/rank_set.h"
#include "collector/schedules/schedule.h"
#include "proto/steer_plan.h"

namespace rollcall {
namespace {

using RunResult = ScheduleOutcome::Result;

// A held message may have to wait as long as the whole first run, and longer where steering is
// slow.
constexpr double kBoundRuns = 2;
constexpr uint32_t kLeastBoundMs = 1000;
constexpr uint32_t kMostBoundMs = 10'000;

// The standard input of a steered run: the first run has read the one of this process. A file is
// read again from where the first run began, `offset`; anything else is empty.
UniqueFd StandardInputAgain(off_t offset) {
  struct stat info;
  const bool is_file = fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode);
  UniqueFd input(open(is_file ? "/proc/self/fd/0" : "/dev/null", O_RDONLY | O_CLOEXEC));
  if (is_file) lseek(input.get(), offset, SEEK_SET);
  return input;
}

// What the findings that count are, whichever ranks and times they have.
std::string KeyOf(const CheckResult& result) {
  std::string key;
  for (size_t i = 0; i < result.judgement.rulings.size(); ++i) {
    if (result.judgement.rulings[i].weight != Ruling::Weight::kFails) continue;
    key += Fingerprint(result.verdict.report.findings[i]) + " ";
  }
  return key;
}

const Finding* FirstFailing(const CheckResult& result) {
  for (size_t i = 0; i < result.judgement.rulings.size(); ++i) {
    if (result.judgement.rulings[i].weight == Ruling::Weight::kFails)
      return &result.verdict.report.findings[i];
  }
  return nullptr;
}

class Exploration {
 public:
  Exploration(const CheckOptions& options, const Policy& policy)
      : options_(options), policy_(policy) {
    options_.names_code = true;  // titles name places
  }

  int Main(uint64_t count, uint64_t seed) {
    std::optional<CheckResult> first = RunFirst();
    if (!first) return kUsage;
    if (first->code == kNothingFound && first->interrupted) {
      Stop(kJobFailed, "interrupted");
    } else if (first->code == kNothingFound) {
      Explore(*first, count, seed);
    }
    CheckResult& told = worst_ ? *worst_ : *first;
    told.judgement.schedules = rows_;
    const bool written = WriteOutputs(options_, told.verdict, told.judgement);
    PrintLine(rows_.empty() && stopped_.empty() ? first->last_line : LastLine());
    if (!written) return kUsage;
    return worst_ || stopped_.empty() ? told.code : stop_code_;
  }

 private:
  std::optional<CheckResult> RunFirst() {
    OutputSums output(STDOUT_FILENO);
    CheckOptions options = options_;
    options.watch.standard_output = output.for_job();
    std::optional<CheckResult> result =
        CheckRun(std::move(options), policy_).Run([&output] { output.JobStarted(); });
    first_output_ = output.Finish();
    return result;
  }

  void Explore(const CheckResult& first, uint64_t count, uint64_t seed) {
    const std::vector<Schedule> schedules =
        FindSchedules(first.verdict.trace, first.verdict.diagnose, count, seed);
    if (schedules.empty()) {
      PrintLine(fmt::format(
          "no schedule can be explored: no rank made a call, or there are more than {} ranks",
          steer::kMaxRanks));
    }
    const double bound_ms = kBoundRuns * 1000 * first.judgement.job->seconds;
    const auto bound =
        static_cast<uint32_t>(std::clamp<double>(bound_ms, kLeastBoundMs, kMostBoundMs));
    for (const Schedule& schedule : schedules) {
      if (!RunSteered(schedule, PlanText(schedule, HostName(), bound), schedules.size())) return;
    }
  }

  // No further run follows. `code`: the exit code, unless a steered run has found something.
  void Stop(int code, std::string why) {
    stop_code_ = code;
    stopped_ = std::move(why);
  }

  // False if no further run is to follow.
  bool RunSteered(const Schedule& schedule, const std::string& plan, size_t count) {
    OutputSums output(-1);
    const UniqueFd input = StandardInputAgain(input_offset_);
    CheckOptions options = options_;
    options.watch.standard_output = output.for_job();
    options.watch.standard_input = input.get();
    options.watch.plan = plan;
    options.watch.directory.clear();
    options.watch.keep = false;
    if (worst_ && worst_->code == kFindings) options.bundle.path.clear();
    // A verdict is shown in full once.
    const auto shows = [this](const CheckResult& result) {
      if (result.code == kNothingFound) return false;
      return shown_.insert(fmt::format("{} {}", result.code, KeyOf(result))).second;
    };
    std::optional<CheckResult> result =
        CheckRun(std::move(options), policy_, shows).Run([&output] { output.JobStarted(); });
    if (!result) {
      Stop(kUsage, "a run could not be started");
      return false;
    }
    const bool same = output.Finish() == first_output_;
    if (result->interrupted) {
      Stop(kJobFailed, "interrupted");
      return false;
    }
    rows_.push_back(RowOf(schedule, *result, same));
    const ScheduleOutcome& row = rows_.back();
    PrintLine(fmt::format("schedule {} of {}: {}: {}{}", rows_.size(), count,
                          ScheduleResultName(row.result), row.title,
                          row.why.empty() ? "" : " (" + row.why + ")"));
    if (IsBad(row.result) && (!worst_ || result->code < worst_->code)) worst_ = std::move(*result);
    return true;
  }

  static bool IsBad(RunResult result) {
    return result == RunResult::kHang || result == RunResult::kFindings ||
           result == RunResult::kFailed;
  }

  static ScheduleOutcome RowOf(const Schedule& schedule, const CheckResult& result, bool same) {
    ScheduleOutcome row{.title = schedule.title, .why = "", .plan = result.plan};
    row.seconds = result.judgement.job->seconds;
    const Finding* finding = FirstFailing(result);
    if (result.code == kNothingFound) {
      row.result = same ? RunResult::kSameOutput : RunResult::kOtherOutput;
      if (!result.not_explored.empty()) row.result = RunResult::kNotExplored;
      row.why = result.not_explored;
    } else if (finding != nullptr) {
      row.result = finding->hangs ? RunResult::kHang : RunResult::kFindings;
      row.why = fmt::format("{}, {}", KindName(finding->kind), CertaintyName(finding->certainty));
    } else {
      row.result = result.code == kUsage ? RunResult::kNotExplored : RunResult::kFailed;
      row.why = result.last_line;
    }
    const bool adds = IsBad(row.result) && !result.not_explored.empty();
    if (adds) row.why += "; " + result.not_explored;
    return row;
  }

  std::string LastLine() const {
    std::array<size_t, 6> counts{};
    for (const ScheduleOutcome& row : rows_) ++counts[static_cast<size_t>(row.result)];
    std::string text;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i],
                          ScheduleResultName(static_cast<RunResult>(i)));
    }
    text = rows_.empty() ? "no schedule was explored"
                         : fmt::format("of {}: {}", CountText(rows_.size(), "schedule"), text);
    if (!stopped_.empty()) text += "; then " + stopped_;
    return fmt::format("check {}: {}", worst_ || !stopped_.empty() ? "failed" : "passed", text);
  }

  CheckOptions options_;
  const Policy& policy_;
  LineSums first_output_;
  std::set<std::string> shown_;
  std::vector<ScheduleOutcome> rows_;
  std::optional<CheckResult> worst_;  // the first with the smallest exit code that is not 0
  const off_t input_offset_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
  std::string stopped_;  // why no further run followed; empty: all were made
  int stop_code_ = kNothingFound;
};

}  // namespace

int CheckSchedules(const CheckOptions& options, const Policy& policy, uint64_t count,
                   uint64_t seed) {
  return Exploration(options, policy).Main(count, seed);
}

Result<std::string> ReadPlan(const std::string& path) {
  const std::optional<std::string> text = ReadWholeFile(path);
  if (!text) return Error{path + ": cannot be read"};
  const auto plan = std::make_unique<steer::Plan>();
  const steer::PlanError error = steer::ParsePlan(*text, plan.get());
  if (error.what != nullptr) return Error{fmt::format("{}:{}: {}", path, error.line, error.what)};
  if (plan->host[0] == '\0') return *text;
  // The ranks of this run share this host's memory.
  std::string here = *text;
  const std::string host = fmt::format("\nhost {}\n", plan->host);
  if (const size_t at = here.find(host); at != std::string::npos) {
    here.replace(at, host.size(), fmt::format("\nhost {}\n", HostName()));
  }
  return here;
}

}  // namespace rollcall
