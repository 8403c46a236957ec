// SPDX-License-Identifier: Apache-2.0
// The result of `rollcall check` for a report, as plain data: the weight of each finding.
#ifndef ROLLCALL_COLLECTOR_CHECK_JUDGEMENT_H_
#define ROLLCALL_COLLECTOR_CHECK_JUDGEMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// The ruling on one finding.
struct Ruling {
  enum class Weight : uint8_t {
    kFails,    // it makes the exit code 1
    kWarning,  // reported, does not count: not among --fail-on, or too uncertain
    kNote,     // reported, does not count: untidy, not wrong
    kKnown,    // in the baseline
  };
  Weight weight = Weight::kFails;
  std::string reason;  // from the baseline's entry
};

constexpr std::string_view WeightName(Ruling::Weight weight) {
  constexpr std::string_view kNames[] = {"fails", "warning", "note", "known"};
  return kNames[static_cast<size_t>(weight)];
}

// How the job ended, if rollcall started it.
struct JobOutcome {
  std::vector<std::string> command;
  int exit_code = 0;  // the launcher's; 128 + the signal that ended it
  bool ended_by_rollcall = false;
  double seconds = 0;  // wall time
};

// One steered run of `rollcall check --schedules`.
struct ScheduleOutcome {
  enum class Result : uint8_t {
    kSameOutput,   // the same lines on standard output as the first run
    kOtherOutput,  // not an error by itself
    kHang,
    kFindings,  // that count, without a hang
    kFailed,    // the job failed by itself
    kNotExplored,
  };
  Result result = Result::kNotExplored;
  std::string title;  // what differs from the first run
  std::string why;    // of kHang, kFindings and kFailed: what happened; kNotExplored: the reason
  std::string plan;   // the file for --replay; empty: none is kept
  double seconds = 0;
};

constexpr std::string_view ScheduleResultName(ScheduleOutcome::Result result) {
  constexpr std::string_view kNames[] = {"same output", "other output", "hang",
                                         "findings",    "failed",       "not explored"};
  return kNames[static_cast<size_t>(result)];
}

struct Judgement {
  std::vector<Ruling> rulings;             // parallel to Report::findings
  std::optional<JobOutcome> job;           // none: not known
  std::vector<ScheduleOutcome> schedules;  // in the order of the runs

  bool Fails() const {
    for (const Ruling& ruling : rulings) {
      if (ruling.weight == Ruling::Weight::kFails) return true;
    }
    return false;
  }
};

// Without a policy, every finding except notes counts.
Judgement JudgeAll(const Report& report);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CHECK_JUDGEMENT_H_
