// SPDX-License-Identifier: Apache-2.0
// What `--verbose` prints of a diagnosis: why it was made, and why there is no verdict yet.
#ifndef ROLLCALL_COLLECTOR_SERVICE_PASS_TEXT_H_
#define ROLLCALL_COLLECTOR_SERVICE_PASS_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/service/diagnosis_schedule.h"
#include "collector/service/job_state.h"

namespace rollcall::service {

struct PassFacts {
  Reason reason = Reason::kNone;
  DiagnosisSchedule::Outcome outcome = DiagnosisSchedule::Outcome::kNothing;
  int64_t delay_ns = 0;        // of kPending: how long the report waits for further ranks at most
  int64_t stall_after_ns = 0;  // before this, an inconclusive report is not printed
};

// One line. Equal for passes that decide the same. Pure.
//
//   all ranks wait: read the records of 4 ranks; inconclusive, not printed before 30 s without
//   progress: ranks 0-3 wait in MPI_Barrier
std::string PassText(const PassFacts& facts, const Report& report);

inline constexpr const char* kVerboseHelp =
    "print what each diagnosis read and decided, and why there is no verdict yet";
// Prints what it is called with as lines for the user. Empty if not `verbose`.
std::function<void(const std::string&)> PassPrinter(bool verbose);

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_PASS_TEXT_H_
