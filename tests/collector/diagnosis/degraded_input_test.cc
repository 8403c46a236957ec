// SPDX-License-Identifier: Apache-2.0
// How reliable a verdict is if the input is incomplete: every case of tests/golden/verdicts/ with
// degraded input. Tests of the importers cover files that are damaged or present twice
// (tests/collector/import/).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/append_trace.h"
#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

using verdict_case::Case;

Report Of(const std::string& text, const DiagnoseOptions& options = {}) {
  return Diagnose(verdict_case::Parse(text), options);
}

std::vector<int32_t> RanksOf(const Trace& trace) {
  std::vector<int32_t> ranks;
  for (const Process& process : trace.processes) ranks.push_back(process.rank);
  return ranks;
}

bool Mentions(const std::vector<std::string>& notes, std::string_view what) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(what) != std::string::npos; });
}

// Calls `check` for every golden case. One test covers all cases, because each case is short and
// starting a process per test is not.
template <typename Check>
void OfEveryCase(const Check& check) {
  for (const std::string& name : verdict_case::Names()) {
    SCOPED_TRACE(name);
    check(verdict_case::Load(name));
  }
}

// Times of different hosts are never compared as if one clock had measured them.
TEST(DegradedGoldenCases, ClockOffsetsOfMinutesChangeNothing) {
  OfEveryCase([](const Case& test) {
    const std::vector<std::string> expected =
        verdict_case::Summaries(verdict_case::Parse(test.trace), test.options);
    for (const char* ahead : {"300", "-300"}) {
      std::string text = test.trace;
      for (const int32_t rank : RanksOf(verdict_case::Parse(test.trace))) {
        if (rank % 2 == 1)
          text += fmt::format("{0}: runs-on node{0}\n{0}: clock-ahead {1}\n", rank, ahead);
      }
      EXPECT_EQ(verdict_case::Summaries(verdict_case::Parse(text), test.options), expected) << text;
    }
  });
}

// Two jobs in one directory remain two jobs, each with its own verdict.
TEST(DegradedGoldenCases, AnotherJobInTheSameDirectoryChangesNothing) {
  OfEveryCase([](const Case& test) {
    const std::vector<std::string> expected =
        verdict_case::Summaries(verdict_case::Parse(test.trace), test.options);
    Trace mixed = verdict_case::Parse(
        "ranks 5\n0-4: Barrier @ main:3\n0-4: Allreduce 1xMPI_INT sum @ main:4\n0-4: Finalize @ "
        "main:9\n0-4: exits 0\n");
    AppendTrace(verdict_case::Parse(test.trace), &mixed);
    EXPECT_EQ(verdict_case::Summaries(mixed, test.options), expected);
  });
}

// Whichever trace is missing, its rank is not accused. Statements about other ranks rely only on
// the traces that exist.
TEST(DegradedGoldenCases, MissingTraceDoesNotAccuseItsRank) {
  OfEveryCase([](const Case& test) {
    const Trace whole = verdict_case::Parse(test.trace);
    if (whole.processes.size() < 2) return;
    for (const int32_t missing : RanksOf(whole)) {
      const Trace trace =
          verdict_case::Parse(test.trace + fmt::format("{}: has no trace\n", missing));
      const Report report = Diagnose(trace, test.options);
      EXPECT_TRUE(Mentions(report.notes, "no trace of rank"));
      for (const Finding& finding : report.findings) {
        EXPECT_FALSE(std::binary_search(finding.culprits.begin(), finding.culprits.end(), missing))
            << finding.title;
        EXPECT_FALSE(std::binary_search(finding.waiting.begin(), finding.waiting.end(), missing))
            << finding.title;
        if (test.expected == std::vector<std::string>{"nothing"}) {
          EXPECT_GE(finding.certainty, Certainty::kSuspected) << finding.title;
        }
      }
    }
  });
}

// The findings if this line is added for every rank.
std::vector<Finding> FindingsWith(const Case& test, const std::string& line) {
  std::string text = test.trace;
  for (const int32_t rank : RanksOf(verdict_case::Parse(test.trace))) {
    text += fmt::format("{}: {}\n", rank, line);
  }
  return Diagnose(verdict_case::Parse(text), test.options).findings;
}

// Records that cannot be read prove nothing: no statement relies on a rank whose history has gaps.
TEST(DegradedGoldenCases, DamagedRecordsDoNotProveAHang) {
  OfEveryCase([](const Case& test) {
    for (const Finding& finding : FindingsWith(test, "damaged")) {
      // How a rank ended, which arguments it passed, how it nested its groups and whether the time
      // limit expired does not depend on the damaged records.
      if (finding.kind == VerdictKind::kRankDied || finding.kind == VerdictKind::kInitHang ||
          finding.kind == VerdictKind::kUncaughtException ||
          finding.kind == VerdictKind::kGroupMisuse || finding.kind == VerdictKind::kTimedOut) {
        continue;
      }
      EXPECT_NE(CertaintyName(finding.certainty), "proven") << finding.title;
    }
  });
}

// A rank that moved between the two snapshots may still make the call that the others wait for.
TEST(DegradedGoldenCases, MovingRanksDoNotProveAHang) {
  OfEveryCase([](const Case& test) {
    for (const Finding& finding : FindingsWith(test, "moves")) {
      if (finding.kind == VerdictKind::kP2pDeadlock || finding.kind == VerdictKind::kP2pUnmatched ||
          finding.kind == VerdictKind::kOrderInversion ||
          finding.kind == VerdictKind::kFinalizedEarly) {
        EXPECT_NE(finding.certainty, Certainty::kProven) << finding.title;
      }
    }
  });
}

constexpr char kSkipped[] = R"(
ranks 3
repeat 12
  0-2: Barrier @ main:10
  0-2: Allreduce 1xMPI_INT sum @ main:11
end
0,2: waits in Barrier @ main:10
1: waits in Bcast 1xMPI_INT root=0 @ main:12
)";

TEST(DegradedInput, CompleteRecordsGiveAProvenFinding) {
  const Report report = Of(kSkipped);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kProven);
}

TEST(DegradedInput, LostRecordsLowerTheCertaintyAndAreReported) {
  const Report report = Of(std::string(kSkipped) + "1: loses 5 from 9\n");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kLikely);
  EXPECT_EQ(report.findings[0].culprits, std::vector<int32_t>{1});
  EXPECT_TRUE(Mentions(report.findings[0].notes, "rank 1 has damaged records"));
}

TEST(DegradedInput, RingsThatBeginAtDifferentRecordsGiveTheSameFinding) {
  // A small ring holds fewer old records; the records that it holds suffice here.
  const Report report = Of(std::string(kSkipped) + "0: loses 20\n1: loses 3\n2: loses 14\n");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].culprits, std::vector<int32_t>{1});
  EXPECT_EQ(report.findings[0].sequence, 25u);
}

TEST(DegradedInput, OpenCallAloneIdentifiesTheCulprit) {
  // Only the open call of rank 1 is left.
  const Report report = Of(std::string(kSkipped) + "1: loses 24\n");
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].culprits, std::vector<int32_t>{1});
}

// An MPI library without symbols ends the process when it loses the connection to its daemon.
TEST(DegradedInput, ReportsAnExitInALibraryWithoutSymbols) {
  const std::string job = "ranks 3\n0-2: Barrier @ main:12\n1,2: waits in Barrier @ main:12\n";
  const Report placed = Of(job + "0: calls-exit 3 @ main:14 > give_up:5\n");
  ASSERT_EQ(placed.findings.size(), 1u);
  EXPECT_TRUE(Mentions(placed.findings[0].notes, "it ended itself at app.c:5 in give_up()"));
  const Report library = Of(job + "0: calls-exit 3 @ [/usr/lib/libopen-rte.so.40]\n");
  ASSERT_EQ(library.findings.size(), 1u);
  EXPECT_EQ(library.findings[0].culprits, std::vector<int32_t>{0});
  EXPECT_TRUE(Mentions(library.findings[0].notes, "it ended itself in libopen-rte.so.40"));
}

// The input is complete here: lateness is reported with a hang only if it explains the hang.
TEST(DegradedInput, LatenessIsReportedOnlyIfItExplainsTheHang) {
  const std::string before = R"(
ranks 3
idle 60
repeat 30
  0,1: Barrier took-us=4100 @ main:12
  2: Barrier took-us=100 @ main:12
end
)";
  const DiagnoseOptions asked{.find_stragglers = true};
  const std::string late = before + "0,1: waits in Barrier @ main:12\n2: computes @ main:9\n";
  const Report explained = Of(late, asked);
  ASSERT_EQ(explained.findings.size(), 1u);
  EXPECT_EQ(explained.findings[0].kind, VerdictKind::kRankStalled);
  EXPECT_TRUE(
      Mentions(explained.findings[0].notes, "it arrived last at 30 of 30 earlier collectives"));
  EXPECT_FALSE(Mentions(Of(late).findings[0].notes, "arrived last"));
  const Report other =
      Of(before + "0,2: waits in Barrier @ main:12\n1: computes @ main:9\n", asked);
  ASSERT_EQ(other.findings.size(), 1u);
  EXPECT_EQ(other.findings[0].culprits, std::vector<int32_t>{1});
  EXPECT_FALSE(Mentions(other.findings[0].notes, "arrived last"));
}

TEST(DegradedInput, TwoHangingJobsGiveTwoFindings) {
  Trace mixed = verdict_case::Parse(kSkipped);
  AppendTrace(verdict_case::Parse("ranks 2\n0: waits in Recv 1xMPI_INT peer=1 tag=7 @ main:16\n"
                                  "1: waits in Recv 1xMPI_INT peer=0 tag=7 @ main:16\n"),
              &mixed);
  const Report report = Diagnose(mixed);
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_NE(report.findings[0].world, report.findings[1].world);
}

}  // namespace
}  // namespace rollcall
