// SPDX-License-Identifier: Apache-2.0
// The texts of a finding: how much is known about the cause, and what remains undecided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "collector/export/places.h"
#include "collector/report/text_report.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Golden {
  explicit Golden(const std::string& name) {
    const verdict_case::Case test = verdict_case::Load(name);
    trace = verdict_case::Parse(test.trace);
    report = Diagnose(trace, test.options);
    EXPECT_EQ(report.findings.size(), 1U) << name;
    if (!report.findings.empty()) first = report.findings.front();
  }
  Trace trace;
  Report report;
  Finding first;
};

TEST(Naming, CountsIterationsOfTheUsersLoop) {
  EXPECT_EQ(
      Golden("uneven_with_a_log_every_six_rounds").first.title,
      "rank 2 left the loop around MPI_Allreduce after 37 rounds, too early; ranks 0,1 are in "
      "round 38");
  EXPECT_EQ(Golden("uneven_in_the_second_epoch").first.title,
            "rank 2 left the loop around MPI_Allreduce after 3 rounds, too early; ranks 0,1 are in "
            "round 4");
  EXPECT_EQ(Golden("uneven_left_after_one_round").first.title,
            "rank 1 left the loop around MPI_Allreduce after 1 round, too early; ranks 0,2,3 are "
            "in round 2");
  EXPECT_EQ(Golden("messages_of_one_user_call_are_one_finding").first.title,
            "rank 3 left the loop around MPI_Bcast after 3 rounds, too early; ranks 0-2 are in "
            "round 4");
}

TEST(Naming, TitleWithoutSourceStatesOnlyWhatIsKnown) {
  const Golden loop("uneven_or_a_conditional_call_behind_it");
  EXPECT_EQ(loop.first.title, "rank 0 continued to MPI_Comm_dup #11 instead of its 11th MPI_Bcast");
  EXPECT_THAT(loop.first.notes,
              ElementsAre("either rank 0 left the loop a round earlier than ranks 1-3",
                          "or MPI_Comm_dup #11 is in the loop, under a condition that only "
                          "rank 0 met"));
  const Golden order("conditional_or_another_order");
  EXPECT_EQ(
      order.first.title,
      "rank 0 continued to MPI_Reduce #1 instead of MPI_Bcast #1 on MPI_COMM_WORLD; ranks 1-3 "
      "wait in it");
  EXPECT_THAT(order.first.notes, ElementsAre("either rank 0 skips MPI_Bcast, under a condition",
                                             "or rank 0 makes it later, in another order"));
  const Golden ring("conditional_or_a_ring_through_a_barrier");
  EXPECT_THAT(ring.first.notes,
              ElementsAre("either rank 1 skips MPI_Barrier, under a condition",
                          "or rank 1 makes it later, and each side waits for the other first"));
}

TEST(Naming, HeadlineAndKindHaveTheirOwnCertainty) {
  const Golden loop("uneven_or_a_conditional_call_behind_it");
  const std::string text = RenderText(loop.trace, loop.report, {});
  EXPECT_THAT(text, HasSubstr("rollcall: hung, proven"));
  EXPECT_THAT(text, HasSubstr("kind   uneven-iterations (suspected)\n"));
  EXPECT_THAT(FindingText(loop.trace, loop.first),
              HasSubstr("\nuneven-iterations (suspected), proven\n"));
  const Golden mismatch("mismatch_in_two_arms");
  EXPECT_THAT(RenderText(mismatch.trace, mismatch.report, {}),
              HasSubstr("kind   collective-mismatch\n"));
}

TEST(Naming, LinesNameTheirCommunicatorsIfTheyDiffer) {
  for (const char* name : {"inversion_in_two_arms", "inversion_of_nonblocking_calls"}) {
    const Golden golden(name);
    ASSERT_EQ(golden.first.sites.size(), 2U);
    for (const Site& site : golden.first.sites) {
      EXPECT_THAT(site.what,
                  HasSubstr(" on " + golden.trace.communicators[site.communicator].name));
    }
    EXPECT_NE(golden.first.sites[0].communicator, golden.first.sites[1].communicator);
  }
  for (const Site& site : Golden("mismatch_in_two_arms").first.sites) {
    EXPECT_THAT(site.what, Not(HasSubstr(" on ")));
  }
}

TEST(Naming, TitleOfACycleNamesItsCalls) {
  EXPECT_EQ(Golden("p2p_ring_through_a_barrier").first.title,
            "ranks 0,1 wait for each other in a cycle, in MPI_Barrier and MPI_Recv");
}

// The cause of a hang is never more certain than the hang itself, and a conclusion from source code
// is never a proof.
TEST(Naming, KindIsNotMoreCertainThanTheHang) {
  for (const std::string& name : verdict_case::Names()) {
    const verdict_case::Case test = verdict_case::Load(name);
    const Trace trace = verdict_case::Parse(test.trace);
    for (const Finding& finding : Diagnose(trace, test.options).findings) {
      if (BasisOf(finding.kind) != KindBasis::kFact) {
        EXPECT_GE(finding.kind_certainty, finding.certainty) << name;
      }
      if (finding.kind == VerdictKind::kRankConditionalCollective ||
          finding.kind == VerdictKind::kUnevenIterations ||
          finding.kind == VerdictKind::kOrderInversion) {
        EXPECT_NE(finding.kind_certainty, Certainty::kProven) << name;
      }
    }
  }
}

// If a culprit has ended or called a function that ends the job, the launcher may already be ending
// the job, and rollcall waits for it first. A Python rank that raised an exception waits in
// MPI_Finalize, and no launcher acts.
TEST(Naming, CulpritIsGoneAfterATerminatingExceptionOrAbort) {
  EXPECT_FALSE(Golden("exception_in_the_loop").first.culprit_gone);
  EXPECT_TRUE(Golden("exception_of_cxx").first.culprit_gone);
  EXPECT_TRUE(Golden("exception_and_mpi_abort").first.culprit_gone);
}

// A trace as text counts a receive from any rank as one whose source is not known.
TEST(Naming, NamesAReceiveFromAnyRankThatTookTheMessage) {
  Trace trace = verdict_case::Parse(
      "ranks 3\n"
      "1: Send 1xMPI_INT peer=0 tag=9 @ main:40\n"
      "0: Recv 1xMPI_INT peer=any tag=9 @ main:20\n"
      "2: Send 1xMPI_INT peer=0 tag=9 @ main:42\n"
      "0: waits in Recv 1xMPI_INT peer=1 tag=9 @ main:22\n"
      "1,2: waits in Barrier @ main:50\n");
  const auto note = [&trace] {
    std::string all;
    for (const Finding& finding : Diagnose(trace).findings) {
      for (const std::string& text : finding.notes) all += text + "\n";
    }
    return all;
  };
  EXPECT_EQ(note(), "");
  for (Channel& channel : trace.processes[0].channels) channel.peer = 1;
  EXPECT_THAT(note(), HasSubstr("possible cause: MPI_Recv at app.c:20 receives from any rank"));
  for (Channel& channel : trace.processes[0].channels) channel.peer = 2;
  EXPECT_THAT(note(), Not(HasSubstr("possible cause")));
}

}  // namespace
}  // namespace rollcall
