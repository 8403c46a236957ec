// SPDX-License-Identifier: Apache-2.0
// The expected diagnosis of a Job.
#ifndef ROLLCALL_TESTS_SUPPORT_RING_JOB_VERDICT_H_
#define ROLLCALL_TESTS_SUPPORT_RING_JOB_VERDICT_H_

#include <fmt/format.h>

#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/rank_set.h"
#include "tests/support/ring_job.h"

namespace rollcall::ring_job {

inline VerdictKind ExpectedKind(Fault fault) {
  switch (fault) {
    case Fault::kSkipped:
      return VerdictKind::kRankConditionalCollective;
    case Fault::kReplaced:
      return VerdictKind::kCollectiveMismatch;
    case Fault::kCount:
      return VerdictKind::kCountMismatch;
    case Fault::kRoot:
      return VerdictKind::kRootMismatch;
    case Fault::kInverted:
      return VerdictKind::kOrderInversion;
    case Fault::kShort:
      return VerdictKind::kUnevenIterations;
    case Fault::kRing:
      return VerdictKind::kP2pDeadlock;
    case Fault::kStalled:
      return VerdictKind::kRankStalled;
    case Fault::kExited:
      return VerdictKind::kRankDied;
    case Fault::kNone:
      break;
  }
  return VerdictKind::kInconclusive;
}

// "rank-died 35"; "clean".
inline std::string VerdictText(const Report& report) {
  if (report.findings.empty()) return "clean";
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}", KindName(finding.kind), FoldRanks(finding.culprits));
  }
  return text;
}

inline std::string ExpectedText(const Job& job) {
  if (job.shape().fault == Fault::kNone) return "clean";
  return fmt::format("{} {}", KindName(ExpectedKind(job.shape().fault)), FoldRanks(job.Culprits()));
}

}  // namespace rollcall::ring_job

#endif  // ROLLCALL_TESTS_SUPPORT_RING_JOB_VERDICT_H_
