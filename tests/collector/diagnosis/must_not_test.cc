// Errors of tools of this kind, one test for each item of "Wrong conclusions that tests exclude" in
// docs/verdicts/README.md: the trace that misleads them, and what is reported here. tests/README.md
// lists the other cases of each item.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

// "KIND culprits RANKS #SEQUENCE", a line for each finding.
std::string Said(const std::string& text, const DiagnoseOptions& options = {}) {
  std::string lines;
  for (const Finding& finding : Diagnose(verdict_case::Parse(text), options).findings) {
    if (!lines.empty()) lines += "; ";
    lines += fmt::format("{} {} #{}", KindName(finding.kind), FoldRanks(finding.culprits),
                         finding.sequence);
  }
  return lines.empty() ? "nothing" : lines;
}

// Rank 1 skips the barrier of round 3, and is a call ahead from there on. The job stands at #12.
TEST(MustNot, PairingDrift) {
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

// Rank 2 was killed three seconds before the others, by clocks that are known to so many ms. Within
// their error that is no order, and rank 1 was outside every call while the others waited for it.
TEST(MustNot, AnOrderOfEndsWithinTheErrorOfTheClocks) {
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

// Rank 3 was killed, and perhaps because of rank 0, of which nobody knows how it ended. Golden
// died_and_the_others_vanished is the same with a parent that saw rank 3.
TEST(MustNot, AKilledRankThatMayBeCleanUp) {
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

// The odd one is the first file, not the seven others.
TEST(MustNot, ReferenceBias) {
  EXPECT_EQ(Said(R"(
ranks 8
0-7: Barrier @ main:8
0: waits in Bcast root=1 1xMPI_INT @ main:9
1-7: waits in Bcast root=0 1xMPI_INT @ main:9
)"),
            "root-mismatch 0 #2");
}

// One against one: nobody is in the majority, and nobody is named.
TEST(MustNot, ReferenceBiasOneAgainstOne) {
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
TEST(MustNot, RingsThatStartElsewhere) {
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

// Nothing on record has started, anywhere; and the culprit is the rank with nothing open at all.
TEST(MustNot, WaitingOnlyOnEnqueue) {
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

TEST(MustNot, AMissingTraceIsNotAGuiltyRank) {
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

// What the damage of one rank leaves of the others is used. (Damaged files: LoadInputsTest,
// RingReader, FlightRecorderDump, DumpDirectory.)
TEST(MustNot, OneDamagedFileAbortsTheWholeAnalysis) {
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

// A sends twice where the others send once: numbers of calls differ, and nothing is wrong.
TEST(MustNot, P2PTreatedAsCollectives) {
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

// Matched pairwise in posting order: the second receive has no message, the first one has.
TEST(MustNot, P2PTreatedAsCollectivesWhenOneIsMissing) {
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

TEST_P(MustNotAccuse, ACorrectProgram) { EXPECT_EQ(Said(GetParam().trace), "nothing"); }

INSTANTIATE_TEST_SUITE_P(CorrectProgramsAccused, MustNotAccuse,
                         testing::Values(Correct{"TheSameCollectiveFromTwoCallSites", R"(
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
