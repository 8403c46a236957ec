// SPDX-License-Identifier: Apache-2.0
// Names that the text and JSON reports share.
#ifndef ROLLCALL_COLLECTOR_REPORT_NAMES_H_
#define ROLLCALL_COLLECTOR_REPORT_NAMES_H_

#include <string_view>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

constexpr std::string_view StatusName(Report::Status status) {
  switch (status) {
    case Report::Status::kHung:
      return "hung";
    case Report::Status::kStopped:
      return "stopped";
    case Report::Status::kFinished:
      return "finished";
    case Report::Status::kFailed:
      return "failed";
    case Report::Status::kRunning:
      return "running";
    case Report::Status::kNoRanks:
      return "no-ranks";
  }
  return "running";
}

constexpr std::string_view RoleName(Site::Role role) {
  switch (role) {
    case Site::Role::kWaiting:
      return "waiting";
    case Site::Role::kContinued:
      return "went-on";
    case Site::Role::kCulprit:
      return "culprit";
    case Site::Role::kStalled:
      return "stalled";
    case Site::Role::kEnded:
      return "ended";
    case Site::Role::kOther:
      return "returned";
  }
  return "returned";
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_REPORT_NAMES_H_
