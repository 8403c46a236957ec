// SPDX-License-Identifier: Apache-2.0
// Errors of similar tools, one test for each item of "Wrong conclusions that tests exclude" in
// docs/verdicts/README.md: a trace that misleads such tools, and the correct report.
// tests/README.md lists the other cases of each item. A test's name completes "a tool must not
// ...".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

// "KIND RANKS #SEQUENCE" for each finding, separated by "; ".
std::string Said(const std::string& text, const DiagnoseOptions& options = {}) {
  std::string lines;
  for (const Finding& finding : Diagnose(verdict_case::Parse(text), options).findings) {
    if (!lines.empty()) lines += "; ";
    lines += fmt::format("{} {} #{}", KindName(finding.kind), FoldRanks(finding.culprits),
                         finding.sequence);
  }
  return lines.empty() ? "nothing" : lines;
}

// Rank 1 skips the barrier of iteration 3 and is one call ahead from there on.
TEST(MustNot, ReportACallAfterPairingDriftBegan) {
  EXPECT_EQ(Said(R"(
ranks 3
repeat 2
  0-2: Barrier @ main:9 > exchange:5
  0-2: Allreduce 1xMPI_INT sum @ main:10
end
0,2: Barrier @ main:9 > exchange:5
1: Allreduce 1xMPI_INT sum @ main:10
0,2: waits in Allreduce 1xMPI_INT sum @ main:10
1: waits in Barrier @ main:9 > exchange:5
)"),
            "rank-conditional-collective 1 #5");
}

// MPICH's launcher kills rank 2 because of an error of rank 1, which has not exited yet.
TEST(MustNot, AccuseARankThatTheLauncherKilledForAnotherOne) {
  const auto said = [](const std::string& report) {
    return Said(R"(
ranks 3
0-2: Barrier @ main:10
1: waits in Bcast root=1 1xMPI_INT @ main:12
)" + report + R"(
0,2: waits in Bcast root=1 1xMPI_INT @ main:14
2: is-killed 9
)");
  };
  EXPECT_EQ(said(""), "rank-died 2 #2");
  EXPECT_EQ(said("1: reports-error 805950734 @ main:12 > MPIR_Err_return_comm[libmpich.so.12]"),
            "nothing");
}

// Rank 2 was killed three seconds before the others, by clocks with a known error in ms. If the
// difference is within that error, the order of the ends is unknown. Rank 1 was outside every call
// while the others waited for it.
TEST(MustNot, OrderEndsWithinTheErrorOfTheClocks) {
  const auto said = [](const std::string& clocks) {
    return Said(R"(
ranks 4
0-3: Barrier @ main:14
0,2,3: waits in Allreduce sum 1xMPI_INT @ main:16
2,3: runs-on node1
)" + clocks + R"(
2: is-killed 9
2: ended-at 2000
1,3,0: is-killed 9
1,3,0: ended-at 5000
)");
  };
  EXPECT_EQ(said("0-3: clock-corrected 0 1"), "rank-died 2 #2");
  EXPECT_EQ(said("0-3: clock-corrected 0 2000"), "rank-died 1 #2");
  EXPECT_EQ(said("0-1: clock-corrected 0 1"), "rank-died 1 #2") << "those of node1 are unknown";
  EXPECT_EQ(said(""), "rank-died 1 #2");
}

// Rank 3 was killed, possibly because of rank 0, whose end was not observed. The golden case
// died_and_the_others_vanished is the same with a parent that observed the end of rank 3.
TEST(MustNot, AccuseARankThatCleanUpMayHaveKilled) {
  EXPECT_EQ(Said(R"(
ranks 4
0-3: Barrier @ main:14
1-3: waits in Bcast root=0 1xMPI_INT @ main:16
3: is-killed 9
3: ended-at 5000
0-2: vanishes
0-2: ended-at 5010
)",
                 {.job_ended = true}),
            "nothing");
}

// The rank that differs is in the first file; the seven others agree.
TEST(MustNot, AccuseTheMajorityBecauseItDiffersFromRank0) {
  EXPECT_EQ(Said(R"(
ranks 8
0-7: Barrier @ main:8
0: waits in Bcast root=1 1xMPI_INT @ main:9
1-7: waits in Bcast root=0 1xMPI_INT @ main:9
)"),
            "root-mismatch 0 #2");
}

// One rank against one: there is no majority, and no culprit is named.
TEST(MustNot, AccuseARankOfATie) {
  const Report report = Diagnose(verdict_case::Parse(R"(
ranks 2
0: waits in Bcast root=1 1xMPI_INT @ main:9
1: waits in Bcast root=0 1xMPI_INT @ main:9
)"));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_TRUE(report.findings[0].culprits.empty());
  EXPECT_NE(report.findings[0].title.find("one against one"), std::string::npos)
      << report.findings[0].title;
}

// Two healthy ranks whose rings begin at different records.
TEST(MustNot, TakeDifferentBeginningsOfRingsForADivergence) {
  EXPECT_EQ(Said(R"(
ranks 2
repeat 20
  0,1: Barrier @ main:9
  0,1: Allreduce 1xMPI_INT sum @ main:10
  0,1: Bcast root=0 3xMPI_INT @ main:11
end
0: loses 7
1: loses 26
)"),
            "nothing");
}

// No recorded open operation has started on any rank. The culprit is the rank without open
// operations.
TEST(MustNot, OverlookACulpritWithoutOpenOperations) {
  EXPECT_EQ(Said(R"(
ranks 4 devices
idle 90
repeat 6
  0-3: all_reduce 8xMPI_FLOAT @ train:10
end
0,1,3: enqueues all_reduce 8xMPI_FLOAT @ train:10
)"),
            "rank-stalled 2 #7");
}

TEST(MustNot, AccuseARankWithoutATrace) {
  const Report report = Diagnose(verdict_case::Parse(R"(
ranks 3
idle 60
0-2: Barrier @ main:9
0,1: waits in Barrier @ main:12
2: has no trace
)"));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_TRUE(report.findings[0].culprits.empty());
  EXPECT_NE(report.findings[0].title.find("the trace of rank 2 is missing"), std::string::npos);
}

// The records of the other ranks are used although one rank is damaged. (Damaged files:
// LoadInputsTest, RingReader, FlightRecorderDump, DumpDirectory.)
TEST(MustNot, AbortTheAnalysisBecauseOfADamagedRank) {
  EXPECT_EQ(Said(R"(
ranks 4
0-3: Barrier @ main:9
0,1: waits in Barrier @ main:12
2: waits in Bcast root=0 1xMPI_INT @ main:14
3: waits in Barrier @ main:12
3: damaged
)"),
            "rank-conditional-collective 2 #2");
}

// Rank 0 sends twice and rank 2 never: the numbers of calls differ, and the program is correct.
TEST(MustNot, CompareMessagesAsCollectives) {
  EXPECT_EQ(Said(R"(
ranks 3
0: Send 1xMPI_INT peer=1 tag=7 @ main:9
0: Send 1xMPI_INT peer=1 tag=8 @ main:10
1: Recv 1xMPI_INT peer=0 tag=7 @ main:12
1: Recv 1xMPI_INT peer=0 tag=8 @ main:13
2: Barrier @ main:20
0,1: Barrier @ main:20
)"),
            "nothing");
}

// Messages match in posting order: the first receive has a message, the second has none.
TEST(MustNot, CompareMessagesAsCollectivesIfOneIsMissing) {
  EXPECT_EQ(Said(R"(
ranks 2
0: Send 1xMPI_INT peer=1 tag=7 @ main:9
1: Recv 1xMPI_INT peer=0 tag=7 @ main:12
1: waits in Recv 1xMPI_INT peer=0 tag=7 @ main:13
0: waits in Recv 1xMPI_INT peer=1 tag=9 @ main:10
)"),
            "p2p-deadlock 0,1 #0");
}

struct Correct {
  const char* name;
  const char* trace;
};

class MustNotAccuse : public testing::TestWithParam<Correct> {};

TEST_P(MustNotAccuse, HasNoFinding) { EXPECT_EQ(Said(GetParam().trace), "nothing"); }

INSTANTIATE_TEST_SUITE_P(CorrectProgramsAccused, MustNotAccuse,
                         testing::Values(Correct{"SameCollectiveFromTwoCallSites", R"(
ranks 2
0: Barrier @ main:9
1: Barrier @ main:12
0,1: Barrier @ main:20
)"},
                                         Correct{"CountsThatMayDiffer", R"(
ranks 2
0: Allgatherv send=1xMPI_INT recvcounts=1,5xMPI_INT @ main:9
1: Allgatherv send=5xMPI_INT recvcounts=1,5xMPI_INT @ main:9
0: Gather send=2xMPI_INT recv=2xMPI_INT root=0 @ main:10
1: Gather send=2xMPI_INT recv=77xMPI_CHAR root=0 @ main:10
)"},
                                         Correct{"InPlace", R"(
ranks 2
0: Reduce in-place 4xMPI_INT sum root=0 @ main:9
1: Reduce 4xMPI_INT sum root=0 @ main:9
)"},
                                         Correct{"ZeroCounts", R"(
ranks 2
0: Alltoallv sendcounts=0,3xMPI_INT recvcounts=0,0xMPI_INT @ main:9
1: Alltoallv sendcounts=0,0xMPI_INT recvcounts=3,0xMPI_INT @ main:9
)"},
                                         Correct{"RanksThatSkipACommunicatorTheyAreNotIn", R"(
ranks 4
comm pair 1,3
1,3: Barrier on=pair @ main:9
1,3: Allreduce 1xMPI_INT sum on=pair @ main:10
0-3: Barrier @ main:20
)"},
                                         Correct{"NonblockingCompletionInAnyOrder", R"(
ranks 2
0,1: Ibarrier request=a @ main:9
0,1: Iallreduce 1xMPI_INT sum request=b @ main:10
0: Wait for=b @ main:12
0: Wait for=a @ main:13
1: Wait for=a @ main:14
1: Wait for=b @ main:15
)"},
                                         Correct{"ProcNull", R"(
ranks 2
0: Sendrecv 1xMPI_INT peer=1 tag=7 from=none fromtag=7 @ main:9
1: Sendrecv 1xMPI_INT peer=none tag=7 from=0 fromtag=7 @ main:9
1: Recv 1xMPI_INT peer=none tag=3 @ main:10
0,1: Barrier @ main:20
)"}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rollcall
