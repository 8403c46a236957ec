// SPDX-License-Identifier: Apache-2.0
// `rollcall check --schedules N`: the first run, and then steered ones.
#ifndef ROLLCALL_CLI_CHECK_SCHEDULES_H_
#define ROLLCALL_CLI_CHECK_SCHEDULES_H_

#include <cstdint>
#include <string>

#include "cli/check_run.h"
#include "collector/base/result.h"

namespace rollcall {

inline constexpr uint64_t kMaxSchedules = 10'000;

// Prints the verdict of the first run, a line for each steered run, the verdicts that steered runs
// add, and the last line. Writes the outputs. Returns the exit code.
int CheckSchedules(const CheckOptions& options, const Policy& policy, uint64_t count,
                   uint64_t seed);

// The text of a plan for this host. The error names the file and the line.
Result<std::string> ReadPlan(const std::string& path);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_CHECK_SCHEDULES_H_
