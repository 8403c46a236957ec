// SPDX-License-Identifier: Apache-2.0
// The output of `rollcall show` for traces written as text.
#include "collector/report/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "collector/diagnosis/diagnose.h"
#include "collector/report/columns.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ShowTest : public ::testing::Test {
 protected:
  const AlignedTrace& Analyze(const std::string& text) {
    TextTraceResult parsed = ParseTextTrace(text);
    EXPECT_EQ(parsed.errors, std::vector<std::string>{}) << text;
    trace_ = std::move(parsed.trace);
    report_ = Diagnose(trace_, options_);
    analysis_.emplace(trace_, options_);
    return *analysis_;
  }
  std::string Table(const TableOptions& options = {}) {
    const Shown shown = ShowTable(*analysis_, report_, options);
    return shown.error.empty() ? "\n" + shown.text : "error: " + shown.error;
  }
  std::string Rank(int32_t rank, size_t last) {
    const Shown shown = ShowRank(*analysis_, rank, last);
    return shown.error.empty() ? "\n" + shown.text : "error: " + shown.error;
  }
  std::string Messages(const std::string& communicator = "", int32_t rank = -1) {
    const Shown shown = ShowMessages(*analysis_, communicator, rank);
    return shown.error.empty() ? "\n" + shown.text : "error: " + shown.error;
  }
  std::string Difference(int32_t left, int32_t right, size_t around = 2) {
    const Shown shown = ShowDifference(*analysis_, left, right, around);
    return shown.error.empty() ? "\n" + shown.text : "error: " + shown.error;
  }

  DiagnoseOptions options_;
  Trace trace_;
  Report report_;
  std::optional<AlignedTrace> analysis_;
};

constexpr char kShownTrace[] = R"(
ranks 4
repeat 3
  0-3: Bcast 4xMPI_INT root=0 @ main:20 > init:8
end
0-3: Barrier @ main:20 > exchange:86
1-3: waits in Barrier @ main:20 > exchange:88
0: waits in Allreduce sum 1xMPI_DOUBLE @ main:20 > exchange:97
)";

TEST_F(ShowTest, TableShowsTheCallsAroundTheFinding) {
  Analyze(kShownTrace);
  EXPECT_EQ(Table({.communicator = "", .around = 1}), R"(
MPI_COMM_WORLD · 4 ranks · 5 collectives

    #4   ranks 0-3            MPI_Barrier                                app.c:86   exchange
  ▸ #5   rank 0      inside   MPI_Allreduce  (1 × MPI_DOUBLE, MPI_SUM)   app.c:97   exchange
         ranks 1-3   inside   MPI_Barrier                                app.c:88   exchange
)");
}

TEST_F(ShowTest, TableShowsWhyRanksLackACall) {
  Analyze(R"(
ranks 4
0-3: Barrier @ main:1
0-3: Barrier @ main:2
0,1: waits in Barrier @ main:3
2: computes @ main:9
2: loses 1
3: has no trace
)");
  EXPECT_EQ(Table({.communicator = "", .sequence = 2, .around = 5}), R"(
MPI_COMM_WORLD · 4 ranks · 3 collectives

    #1   ranks 0,1                 MPI_Barrier   app.c:1   main
         rank 2      overwritten
         rank 3      no trace
  ▸ #2   ranks 0-2                 MPI_Barrier   app.c:2   main
         rank 3      no trace
    #3   ranks 0,1   inside        MPI_Barrier   app.c:3   main
         rank 2      not there
         rank 3      no trace
)");
  EXPECT_EQ(Table({.communicator = "", .sequence = 9}), "error: MPI_COMM_WORLD has 3 collectives");
}

TEST_F(ShowTest, SelectsCommunicatorsByNameOrFinding) {
  Analyze(R"(
ranks 4
comm low 0,1
comm high 2,3
0-3: Barrier @ main:1
0,1: Barrier on=low @ main:2
2,3: waits in Barrier on=high @ main:2
)");
  EXPECT_THAT(Table(), HasSubstr("high · 2 ranks"));
  EXPECT_THAT(Table(), Not(HasSubstr("low ·"))) << "nothing happens there";
  EXPECT_THAT(Table({.communicator = "low"}), HasSubstr("low · 2 ranks · 1 collective\n"));
  EXPECT_THAT(Table({.communicator = "hig"}), HasSubstr("high · 2 ranks"));
  EXPECT_EQ(Table({.communicator = "middle"}),
            "error: no communicator with collectives is called 'middle'");
}

constexpr char kMessages[] = R"(
ranks 3
comm pair 1,2
repeat 4
  0: Send 1xMPI_INT peer=1 tag=3 @ main:1
  0: Send 1xMPI_INT peer=1 tag=4 @ main:2
  1: Recv 1xMPI_INT peer=0 tag=4 @ main:3
end
0: Send 1xMPI_INT peer=1 tag=3 @ main:1
repeat 3
  1: Recv 1xMPI_INT peer=0 tag=3 @ main:4
end
1: Send 1xMPI_INT peer=2 tag=9 @ main:5
1: Send 1xMPI_INT peer=1 tag=9 on=pair @ main:6
2: Recv 1xMPI_INT peer=0 tag=9 on=pair @ main:7
)";

TEST_F(ShowTest, MessagesShowBothSidesOfEachPair) {
  Analyze(kMessages);
  EXPECT_EQ(Messages(), R"(
MPI_COMM_WORLD · messages between 2 pairs of ranks

  rank 0 → rank 1   all tags   sent 9   received 7   2 on their way
                    tag 3      sent 5   received 3   2 on their way
                    tag 4      sent 4   received 4
  rank 1 → rank 2   tag 9      sent 1   received 0   1 on its way

pair · messages between 1 pair of ranks

  rank 1 → rank 2   tag 9   sent 1   received 1
)");
  EXPECT_EQ(Messages("", 2), R"(
MPI_COMM_WORLD · messages between 1 pair of ranks

  rank 1 → rank 2   tag 9   sent 1   received 0   1 on its way

pair · messages between 1 pair of ranks

  rank 1 → rank 2   tag 9   sent 1   received 1
)");
  EXPECT_EQ(Messages("pair", 1), R"(
pair · messages between 1 pair of ranks

  rank 1 → rank 2   tag 9   sent 1   received 1
)");
  EXPECT_EQ(Messages("pair", 0), "error: no such message is counted");
}

TEST_F(ShowTest, MessagesShowWhatIsUnknown) {
  Analyze(R"(
ranks 4
0: counts 1 channels
3: counts 0 peers
0: Send 1xMPI_INT peer=1 tag=1 @ main:1
0: Send 1xMPI_INT peer=1 tag=2 @ main:1
0: Send 1xMPI_INT peer=1 tag=3 @ main:1
1: Recv 1xMPI_INT peer=any tag=any @ main:2
1: Recv 1xMPI_INT peer=0 tag=3 @ main:2
0: Send 1xMPI_INT peer=2 tag=5 @ main:1
3: Send 1xMPI_INT peer=1 tag=5 @ main:1
2: has no trace
)");
  EXPECT_EQ(Messages(), R"(
MPI_COMM_WORLD · messages between 4 pairs of ranks

  rank 0 → rank 1       all tags   sent 3   received 1   at most 2 on their way
                        any tag    sent 2   received ?
                        tag 1      sent 1   received 0   at most 1 on its way
                        tag 3      sent ?   received 1
  rank 0 → rank 2       any tag    sent 1   received ?
  rank 3 → rank 1       all tags   sent ?   received 0
                        tag 5      sent 1   received 0   at most 1 on its way
  any source → rank 1   any tag    sent ?   received 1
)");
}

TEST_F(ShowTest, MessagesOfIntercommunicatorsNameRanksOfTheWorld) {
  Analyze(R"(
ranks 4
comm both 0,1 remote 2,3
0: Send 1xMPI_INT peer=1 tag=3 on=both @ main:1
3: Recv 1xMPI_INT peer=0 tag=3 on=both @ main:1
)");
  EXPECT_THAT(Messages(), HasSubstr("  rank 0 → rank 3   tag 3   sent 1   received 1\n"));
}

// What is on its way is shown first.
TEST_F(ShowTest, MessagesOfManyTagsAndPairsAreBounded) {
  std::string text = "ranks 100\n";
  for (int tag = 0; tag < 20; ++tag) {
    text += "0: Send 1xMPI_INT peer=1 tag=" + std::to_string(tag) + " @ main:1\n";
    if (tag == 18) continue;
    text += "1: Recv 1xMPI_INT peer=0 tag=" + std::to_string(tag) + " @ main:2\n";
  }
  for (int peer = 2; peer < 100; ++peer) {
    text += "0: Send 1xMPI_INT peer=" + std::to_string(peer) + " tag=1 @ main:1\n";
    if (peer == 99) continue;
    text += std::to_string(peer) + ": Recv 1xMPI_INT peer=0 tag=1 @ main:2\n";
  }
  Analyze(text);
  const std::string all = Messages();
  EXPECT_THAT(all, HasSubstr("messages between 99 pairs of ranks\n"));
  EXPECT_THAT(all, HasSubstr("sent 1    received 0    1 on its way\n"));
  EXPECT_THAT(all, HasSubstr("tag 18 "));
  EXPECT_THAT(all, HasSubstr("tag 6 "));
  EXPECT_THAT(all, Not(HasSubstr("tag 7 ")));
  EXPECT_THAT(all, HasSubstr("… and 12 more tags\n"));
  EXPECT_THAT(all, HasSubstr("rank 0 → rank 99 "));
  EXPECT_THAT(all, HasSubstr("rank 0 → rank 63 "));
  EXPECT_THAT(all, Not(HasSubstr("rank 0 → rank 64 ")));
  EXPECT_THAT(all, HasSubstr("  … and 35 more pairs: --rank R shows those of one rank\n"));
  EXPECT_THAT(Messages("", 70), HasSubstr("rank 0 → rank 70 "));
}

TEST_F(ShowTest, ShowsTheLastCallsOfARank) {
  Analyze(R"(
ranks 2
0-1: Barrier @ main:1
0: Send 3xMPI_INT peer=1 tag=7 @ main:2 > send:4
1: Recv 3xMPI_INT peer=0 tag=7 @ main:3
0: waits in Recv 1xMPI_INT peer=1 tag=8 @ main:5
1: exits 3
)");
  const std::string text = Rank(0, 2);
  EXPECT_THAT(text, HasSubstr("rank 0 on node0"));
  EXPECT_THAT(text, HasSubstr(" earlier calls\n"));
  EXPECT_THAT(text, HasSubstr("MPI_Send on MPI_COMM_WORLD  (3 × MPI_INT"));
  EXPECT_THAT(text, HasSubstr("app.c:4   send\n"));
  EXPECT_THAT(text, HasSubstr("inside"));
  EXPECT_THAT(text, Not(HasSubstr("MPI_Barrier")));
  EXPECT_THAT(Rank(1, 9), HasSubstr("    exited with 3\n"));
  EXPECT_THAT(Rank(1, 9), HasSubstr("MPI_Barrier #1 on MPI_COMM_WORLD"));
  EXPECT_EQ(Rank(2, 9), "error: there is no trace of rank 2");
}

TEST_F(ShowTest, ComparesTwoRanksUpToTheirFirstDifference) {
  Analyze(kShownTrace);
  EXPECT_EQ(Difference(0, 3, 1), R"(
rank 0 on node0, pid 1000 and rank 3 on node0, pid 1003
  the same 4 calls, then they differ

    MPI_Barrier #4 on MPI_COMM_WORLD  app.c:86                                        =   MPI_Barrier #4 on MPI_COMM_WORLD  app.c:86
  ▸ MPI_Allreduce #5 on MPI_COMM_WORLD  (1 × MPI_DOUBLE, MPI_SUM)  app.c:97  inside   ≠   MPI_Barrier #5 on MPI_COMM_WORLD  app.c:88  inside
)");
  EXPECT_THAT(Difference(1, 2), HasSubstr("  no difference in 5 calls\n"));
  EXPECT_EQ(Difference(0, 4), "error: there is no trace of rank 4");
}

TEST_F(ShowTest, DifferentArgumentsAreADifference) {
  Analyze(R"(
ranks 2
0-1: Barrier @ main:1
0: Bcast 4xMPI_INT root=0 @ main:2
1: Bcast 4xMPI_INT root=1 @ main:2
)");
  EXPECT_THAT(Difference(0, 1), HasSubstr("the same 1 call, then they differ"));
}

// One rank skipped a call: the calls after it are aligned again.
TEST_F(ShowTest, AlignsEqualCallsAfterADifference) {
  Analyze(R"(
ranks 2
comm a 0,1
0-1: Send 1xMPI_INT peer=none tag=1 @ main:1
0: Send 1xMPI_INT peer=none tag=2 @ main:2
0-1: Send 1xMPI_INT peer=none tag=3 @ main:3
0-1: Send 1xMPI_INT peer=none tag=4 @ main:4
)");
  const std::string text = Difference(0, 1);
  EXPECT_THAT(text, HasSubstr("the same 1 call, then they differ"));
  size_t equal = 0;
  for (size_t at = 0; (at = text.find("   =   ", at)) != std::string::npos; ++at) ++equal;
  EXPECT_EQ(equal, 3u) << text;
}

// The older half of one ring is lost: the comparison begins at the first call recorded in both.
TEST_F(ShowTest, ComparesRingsFromTheFirstCallInBoth) {
  Analyze(R"(
ranks 2
0-1: Barrier @ main:1
0-1: Barrier @ main:2
0-1: Barrier @ main:3
0-1: Barrier @ main:4
1: loses 2
)");
  const std::string text = Difference(0, 1);
  EXPECT_THAT(text, HasSubstr("2 earlier calls of rank 0 are left out"));
  EXPECT_THAT(text, HasSubstr("no difference in 2 calls"));
}

TEST(Columns, CountCharactersAndOmitEmptyColumns) {
  EXPECT_EQ(Width("µ×a"), 3u);
  EXPECT_EQ(AlignColumns({{"µ", "", "b"}, {"aaa", "", ""}}),
            (std::vector<std::string>{"µ     b", "aaa"}));
  EXPECT_EQ(AlignColumns({}), std::vector<std::string>{});
}

}  // namespace
}  // namespace rollcall
