// SPDX-License-Identifier: Apache-2.0
// The complete report as users see it. Source excerpts are made up here.
#include "collector/report/text_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

std::string Render(std::string_view text, const TextOptions& options = {},
                   const DiagnoseOptions& diagnose = {}) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{});
  return RenderText(parsed.trace, Diagnose(parsed.trace, diagnose), options);
}

constexpr std::string_view kReportedTrace = R"(
ranks 4
idle 12
repeat 2
  0-3: Barrier @ main(solver.c:20) > exchange_halo(solver.c:88)
  0-3: Allreduce sum 1xMPI_DOUBLE @ main(solver.c:20) > exchange_halo(solver.c:97)
end
1-3: waits in Barrier @ main(solver.c:20) > exchange_halo(solver.c:88)
0: waits in Allreduce sum 1xMPI_DOUBLE @ main(solver.c:20) > exchange_halo(solver.c:97)
)";

SourceExcerpt Source(const std::string& file, const std::vector<int>& marked) {
  EXPECT_EQ(file, "solver.c");
  EXPECT_EQ(marked, (std::vector<int>{88, 97}));
  SourceExcerpt excerpt;
  excerpt.file = file;
  excerpt.lines = {{86, "  if (rank != 0) {", false},
                   {88, "    MPI_Barrier(comm);", true},
                   {97, "  MPI_Allreduce(&r, &g, 1, MPI_DOUBLE, MPI_SUM, comm);", true}};
  return excerpt;
}

TEST(TextReport, ShowsWaitingRanksAndCulpritSeparately) {
  TextOptions options;
  options.excerpt = Source;
  EXPECT_EQ(Render(kReportedTrace, options),
            R"(rollcall: hung, proven · 4 ranks on 1 host · no progress for 12.0 s

  rank 0 skipped MPI_Barrier #5 on MPI_COMM_WORLD; ranks 1-3 wait in it

    ranks 1-3   waiting   solver.c:88   exchange_halo   MPI_Barrier #5
    rank  0     went on   solver.c:97   exchange_halo   MPI_Allreduce #5  (1 × MPI_DOUBLE, MPI_SUM)

      86 │ if (rank != 0) {
         ⋮
    ▸ 88 │   MPI_Barrier(comm);                                   ranks 1-3
         ⋮
    ▸ 97 │ MPI_Allreduce(&r, &g, 1, MPI_DOUBLE, MPI_SUM, comm);   rank 0

  kind   rank-conditional-collective (likely)
  why    both calls come from exchange_halo() by the same call path and diverge there, at lines 88 and 97
  fix    call MPI_Barrier on every rank; keep only the side effect under the condition
  note   rank 0 makes this call at other times: the condition depends on more than the rank
)");
}

TEST(TextReport, ShowsTheCallerThatDiffersOfSitesOnOneLine) {
  const std::string text = Render(R"(
ranks 2
0: Barrier @ main(app.c:20) > Wait(app.c:5)
1: Barrier @ main(app.c:30) > Wait(app.c:5)
0-1: Finalize @ main(app.c:40)
0-1: exits 0
)",
                                  {}, {.job_ended = true, .compare_call_sites = true});
  EXPECT_NE(text.find("was called from 2 places: app.c:5 Wait, app.c:5 Wait from app.c:30 main"),
            std::string::npos)
      << text;
}

// Users need the host of a culprit to inspect it.
TEST(TextReport, NamesTheHostsOfCulpritsIfThereAreSeveralHosts) {
  const std::string one_host(kReportedTrace);
  EXPECT_EQ(Render(one_host).find("\n  host "), std::string::npos);
  std::string several = one_host;
  several.insert(several.find("idle"), "0: runs-on gpu17\n");
  EXPECT_NE(Render(several).find("\n  host   rank 0 on gpu17\n"), std::string::npos)
      << Render(several);
}

TEST(TextReport, CountsTheRestOfManyHosts) {
  std::vector<HostRanks> hosts;
  for (int32_t i = 0; i < 10; ++i) hosts.push_back({"n" + std::to_string(i), -1, {i}});
  hosts[1].device = 3;
  hosts[1].ranks = {1, 11};
  EXPECT_EQ(HostsText(hosts),
            "rank 0 on n0; ranks 1,11 on n1 (GPU 3); rank 2 on n2; rank 3 on n3; rank 4 on n4; "
            "rank 5 on n5; rank 6 on n6; rank 7 on n7; and 2 more");
}

// The history distinguishes a condition on the rank from a condition on other data. A first
// occurrence tells nothing.
TEST(TextReport, SaysThatTheConditionDependsOnTheRank) {
  const std::string report = Render(R"(
ranks 3
repeat 4
  1,2: Barrier @ main:10
  0-2: Bcast root=0 1xMPI_INT @ main:12
end
1,2: waits in Barrier @ main:10
0: waits in Allreduce sum 1xMPI_INT @ main:30
)");
  EXPECT_NE(
      report.find("\n  note   rank 0 never makes this call, and rank 1 has made it 5 times: the "
                  "condition depends on the rank\n"),
      std::string::npos)
      << report;
}

TEST(TextReport, FirstOccurrenceSaysNothingAboutTheCondition) {
  const std::string report = Render(
      "ranks 3\nsource\n1,2: waits in Barrier @ main:10\n0: waits in Bcast root=0 1xMPI_INT @ "
      "main:30\n");
  EXPECT_NE(report.find("rank-conditional-collective"), std::string::npos) << report;
  EXPECT_EQ(report.find("  note   "), std::string::npos) << report;
}

TEST(TextReport, ExplainsNearMisses) {
  constexpr std::string_view kWaiting[] = {"Probe peer=0 tag=8", "Recv 1xMPI_INT peer=0 tag=8"};
  constexpr std::string_view kAwaited[] = {"a message from rank 0, tag 8",
                                           "1 × MPI_INT, from rank 0, tag 8"};
  for (size_t i = 0; i < 2; ++i) {
    const std::string report =
        Render("ranks 2\n0: Send 1xMPI_INT peer=1 tag=7 @ main:10\n1: waits in " +
               std::string(kWaiting[i]) + " @ main:12\n0: waits in Barrier @ main:20\n");
    EXPECT_NE(report.find("rank 0 sent it tag 7, which no rank received; it waits for " +
                          std::string(kAwaited[i]) + "\n"),
              std::string::npos)
        << report;
  }
}

TEST(TextReport, UsesColorsOnlyWhenAsked) {
  EXPECT_EQ(Render(kReportedTrace).find('\033'), std::string::npos);
  TextOptions options;
  options.color = true;
  const std::string colored = Render(kReportedTrace, options);
  EXPECT_NE(colored.find("\033[31;1mhung, proven\033[0m"), std::string::npos) << colored;
}

TEST(TextReport, SaysThatNothingWasFound) {
  EXPECT_EQ(Render("ranks 2\n0,1: Barrier\n0,1: Finalize\n"),
            "rollcall: finished, nothing found · 2 ranks on 1 host\n");
}

TEST(TextReport, SaysHowMuchDataWasRead) {
  EXPECT_EQ(Render("ranks 2\n0,1: Bcast root=0 1xMPI_INT result=1\n0,1: Finalize\n"),
            "rollcall: finished, nothing found · 2 ranks on 1 host · 2 buffers read\n");
  EXPECT_EQ(Render("ranks 3\n"
                   "0-2: Bcast root=0 1xMPI_INT data-unread=scope\n"
                   "2: Allreduce sum 1xMPI_INT data-unread=device\n"
                   "0,1: Allreduce sum 1xMPI_INT\n"
                   "0-2: Finalize\n"),
            "rollcall: finished, nothing found · 3 ranks on 1 host · 0 buffers read\n"
            "\n  note   1 buffer of rank 2 not read: memory of a device, or not certain to be the "
            "host's\n");
}

TEST(TextReport, SaysThatTheScopeIsEmpty) {
  EXPECT_EQ(Render("ranks 2\n0,1: Bcast root=0 1xMPI_INT data-unread=scope\n0,1: Finalize\n"),
            "rollcall: finished, nothing found · 2 ranks on 1 host · 0 buffers read\n"
            "\n  note   no call is in --data-scope, and 2 outside\n");
  // Some of them are read.
  EXPECT_EQ(Render("ranks 2\n0,1: Bcast root=0 1xMPI_INT data-unread=scope\n"
                   "0,1: Bcast root=0 1xMPI_INT result=1\n0,1: Finalize\n"),
            "rollcall: finished, nothing found · 2 ranks on 1 host · 2 buffers read\n");
}

TEST(TextReport, SaysThatNoRankWasRecorded) {
  const Trace empty;
  EXPECT_EQ(RenderText(empty, Diagnose(empty)), "rollcall: no rank was recorded\n");
}

TEST(TextReport, CountsConsequencesInsteadOfListingThem) {
  const std::string text = Render(R"(
ranks 6
comm group 0-2
0,2: waits in Barrier on=group @ main:25
1,3-5: waits in Barrier @ main:27
)");
  EXPECT_NE(text.find("ranks 3-5 wait as a consequence (3 in all)"), std::string::npos) << text;
}

TEST(TextReport, NamesRanksWithoutATrace) {
  const std::string text = Render(R"(
ranks 3
idle 60
0,1: waits in Barrier @ main:25
2: has no trace
)");
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "rollcall: hung, inconclusive · 2 of 3 ranks on 1 host · no progress for 60.0 s");
  EXPECT_NE(text.find("the trace of rank 2 is missing"), std::string::npos) << text;
}

constexpr std::string_view kPythonTrace = R"(
ranks 3
0,1: waits in Barrier @ <module>(train.py:9) > fit(/env/lib/python3.9/site-packages/lightning/fit.py:7) > step(train.py:4) > Barrier[/env/lib/python3.9/site-packages/mpi4py/MPI.so]
2: waits in Allreduce sum 1xMPI_INT @ thread_main(engine.cpp:3) context <module>(train.py:9)
)";

TEST(TextReport, ShowsUserPythonFramesAndFoldsOthers) {
  const std::string text = Render(kPythonTrace);
  EXPECT_NE(text.find(R"(
    ranks 0,1 arrived there by
      … 1 frame of mpi4py
      train.py:4   step
      … 1 frame of lightning
      train.py:9   <module>
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 2 arrived there by"), std::string::npos) << "one frame is in its row";
}

TEST(TextReport, ShowsAllFramesOrNoneOnRequest) {
  TextOptions options;
  options.stacks = StackDetail::kFull;
  const std::string full = Render(kPythonTrace, options);
  EXPECT_NE(full.find(R"(
    ranks 0,1 arrived there by
      MPI.so+0x0   Barrier   [mpi4py]
      train.py:4   step
      fit.py:7     fit   [lightning]
      train.py:9   <module>

    rank 2 arrived there by
      engine.cpp:3   thread_main
)"),
            std::string::npos)
      << full;
  options.stacks = StackDetail::kNone;
  EXPECT_EQ(Render(kPythonTrace, options).find("arrived there by"), std::string::npos);
}

TEST(TextReport, CountsRecursion) {
  const std::string text = Render(R"(
ranks 2
0: waits in Barrier @ <module>(t.py:9) > down(t.py:3) > down(t.py:3) > down(t.py:3) > down(t.py:4)
1: waits in Allreduce sum 1xMPI_INT @ <module>(t.py:9)
)");
  EXPECT_NE(text.find(R"(
      t.py:4   down
      t.py:3   down   (3 times)
      t.py:9   <module>
)"),
            std::string::npos)
      << text;
}

TEST(TextReport, SaysThatContextIsNotTheCall) {
  const std::string text = Render(kPythonTrace);
  EXPECT_NE(text.find("rank 2 made MPI_Allreduce #1 in a thread that runs no Python; for context "
                      "only: the main thread was then at train.py:9, in the top level "
                      "of train.py"),
            std::string::npos)
      << text;
}

TEST(TextReport, SaysOnceWhyThereAreNoPythonFrames) {
  const std::string text = Render(R"(
ranks 4
0-2: python-off build
3: python-off finalizing
0-3: Barrier @ main:3
)");
  const std::string note =
      "no Python frames of ranks 0-2 (Python 3.13.0): a free-threaded or debug build, or not "
      "CPython";
  const size_t at = text.find(note);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("no Python frames", at + 1), std::string::npos) << text;
}

TEST(TextReport, ShowsModuleAndOffsetWithoutLines) {
  TextTraceResult parsed = ParseTextTrace(kReportedTrace);
  for (Code& code : parsed.trace.codes) {
    SourceFrame& frame = code.frames[0];
    frame.file.clear();
    frame.line = 0;
    frame.module = "/opt/app/solver";
    frame.vaddr = code.vaddr;
  }
  const std::string text = RenderText(parsed.trace, Diagnose(parsed.trace));
  EXPECT_NE(text.find("solver+0x"), std::string::npos) << text;
}

}  // namespace
}  // namespace rollcall
