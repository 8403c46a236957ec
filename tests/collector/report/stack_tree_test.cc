// SPDX-License-Identifier: Apache-2.0
#include "collector/report/stack_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/export/places.h"
#include "collector/report/text_report.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct StalledJob {
  explicit StalledJob(std::string_view text) : trace(ParseTextTrace(text).trace) {
    report = Diagnose(trace, {});
  }
  std::string Text(StackDetail stacks = StackDetail::kUser) const {
    TextOptions options;
    options.stacks = stacks;
    return RenderText(trace, report, options);
  }
  std::vector<std::string> Tree(bool full = false) const {
    return StackTreeLines(StackTree(LiveStacksOf(trace, report.findings.at(0), full), full));
  }
  Trace trace;
  Report report;
};

constexpr std::string_view kStalled = R"(
ranks 5
idle 40
0-4: Barrier @ main(a.c:20)
0,2: waits in Bcast root=0 1xMPI_INT @ main(a.c:25) > exchange(a.c:7)
1: computes @ main(a.c:25) > solve(a.c:9)
3: sleeps @ main(a.c:25) > load(a.c:3) > __libc_read[/lib/x86_64-linux-gnu/libc.so.6]
4: computes @ main(a.c:25) > solve(a.c:9)
)";

TEST(LiveStackTree, SeparatesStalledRanksFromWaitingRanks) {
  const StalledJob job(kStalled);
  EXPECT_THAT(job.Tree(), ElementsAre("0-4   main (a.c:25)",          //
                                      "0,2     exchange (a.c:7)",     //
                                      "0,2     → MPI_Bcast #2",       //
                                      "1,4     solve (a.c:9)",        //
                                      "1,4     → running, 100% CPU",  //
                                      "3       load (a.c:3)",         //
                                      "3       → read, sleeping in read, 0% CPU"));
  EXPECT_THAT(job.Text(), HasSubstr("\n\n  stacks\n    0-4   main (a.c:25)\n"));
  EXPECT_THAT(FindingText(job.trace, job.report.findings[0]),
              HasSubstr("\nstacks:\n  0-4   main (a.c:25)\n"));
}

TEST(LiveStackTree, HasTheRequestedDetail) {
  const StalledJob job(kStalled);
  EXPECT_THAT(job.Text(StackDetail::kFull), HasSubstr("      __libc_read\n"));
  EXPECT_THAT(job.Text(StackDetail::kNone), Not(HasSubstr("  stacks\n")));
}

// The share of CPU time of a rank differs between samples.
TEST(LiveStackTree, DifferentCpuSharesDoNotSeparateRanks) {
  StalledJob job(kStalled);
  job.trace.processes[4].live_stacks[0].cpu_ns_per_s = 961'000'000;
  EXPECT_THAT(job.Text(), HasSubstr("  → running, 96-100% CPU\n"));
}

TEST(LiveStackTree, ShowsOtherThreadsThatRunUserCodeWithTheirNames) {
  StalledJob job(kStalled);
  std::vector<LiveStack>& threads = job.trace.processes[1].live_stacks;
  threads.push_back(threads.front());
  threads.back().thread_name = "writer";
  threads.push_back(job.trace.processes[3].live_stacks.front());
  threads.back().thread_name = "progress";
  threads.back().frames.resize(1);  // libc's
  EXPECT_THAT(job.Text(), HasSubstr("    1     thread writer\n"
                                    "    1     main (a.c:25)\n"
                                    "    1     solve (a.c:9)\n"
                                    "    1     → running, 100% CPU\n"));
  EXPECT_THAT(job.Text(), Not(HasSubstr("thread progress")));
  EXPECT_THAT(job.Text(StackDetail::kFull), HasSubstr("thread progress"));
}

TEST(LiveStackTree, ReportsTheReasonForMissingStacksOnce) {
  StalledJob job(kStalled);
  for (const size_t rank : {1, 4}) {
    job.trace.processes[rank].live_stacks[0].frames.clear();
    job.trace.processes[rank].live_stacks[0].unreadable = "ptrace is not permitted";
  }
  job.report = Diagnose(job.trace, {});
  EXPECT_THAT(job.Text(), HasSubstr("  note   not all stacks of ranks 1,4 could be taken: ptrace "
                                    "is not permitted\n"));
  EXPECT_THAT(job.Text(), HasSubstr("    1,4     → running, 100% CPU\n"));
}

// The stacks of a rank from a time when it was outside a call do not apply while it is in a call.
TEST(LiveStackTree, OmitsRanksInsideCalls) {
  const StalledJob job(R"(
ranks 2
0: computes @ main(a.c:9)
0: waits in Barrier @ main(a.c:25)
1: waits in Allreduce sum 1xMPI_INT @ main(a.c:30)
)");
  ASSERT_EQ(job.report.findings.size(), 1u);
  EXPECT_THAT(LiveStacksOf(job.trace, job.report.findings[0], true), IsEmpty());
}

}  // namespace
}  // namespace rollcall
