// SPDX-License-Identifier: Apache-2.0
#include "collector/service/pass_text.h"

#include <gtest/gtest.h>

namespace rollcall::service {
namespace {

Report WithFinding(Certainty certainty) {
  Report report;
  report.ranks = 4;
  Finding finding;
  finding.title = "ranks 0-3 wait in MPI_Barrier";
  finding.certainty = certainty;
  report.findings.push_back(finding);
  return report;
}

TEST(PassText, SaysWhyThereIsNoVerdictYet) {
  EXPECT_EQ(PassText({.reason = Reason::kAllWait, .stall_after_ns = 30'000'000'000},
                     WithFinding(Certainty::kInconclusive)),
            "all ranks wait: read the records of 4 ranks; inconclusive, not printed before 30 s "
            "without progress: ranks 0-3 wait in MPI_Barrier");
  EXPECT_EQ(PassText({.reason = Reason::kMismatch,
                      .outcome = DiagnosisSchedule::Outcome::kPending,
                      .delay_ns = 500'000'000},
                     WithFinding(Certainty::kProven)),
            "calls of one number differ between ranks: read the records of 4 ranks; proven, waits "
            "500 ms for further ranks: ranks 0-3 wait in MPI_Barrier");
}

TEST(PassText, SaysWhatWasFound) {
  EXPECT_EQ(PassText({.reason = Reason::kAllWait, .outcome = DiagnosisSchedule::Outcome::kVerdict},
                     WithFinding(Certainty::kProven)),
            "all ranks wait: read the records of 4 ranks; proven: ranks 0-3 wait in MPI_Barrier");
  Report nothing;
  nothing.ranks = 1;
  EXPECT_EQ(PassText({}, nothing),
            "a diagnosis was requested: read the records of 1 rank; nothing found");
  EXPECT_EQ(PassText({.reason = Reason::kSomeWait, .stall_after_ns = 30'000'000'000}, nothing),
            "some ranks wait while others go on: read the records of 1 rank; nothing found; a rank "
            "is called stalled after 30 s");
}

}  // namespace
}  // namespace rollcall::service
