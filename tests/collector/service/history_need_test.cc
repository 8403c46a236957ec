// SPDX-License-Identifier: Apache-2.0
// Compares the verdict from the requested records with the verdict from all records.
#include "collector/service/history_need.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/newest_records.h"
#include "tests/support/verdict_case.h"

namespace rollcall::service {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// The number of records that a collector first requests of each ring buffer of a large job.
constexpr size_t kNewest = 4;

struct ByNeed {
  Trace trace;
  Report report;
};

// Reads the trace like a collector that may request at most `most` whole rings.
ByNeed Read(const Trace& trace, const DiagnoseOptions& options, size_t newest, size_t most) {
  ByNeed read;
  std::set<uint32_t> whole;
  size_t had = 0;
  do {
    had = whole.size();
    read.trace = KeepNewest(trace, newest, whole);
    read.report = Diagnose(read.trace, options);
    whole.merge(SelectForWholeHistory(read.trace, read.report, most - whole.size()));
  } while (whole.size() != had);
  return read;
}

std::vector<std::string> Hangs(const Trace& trace, const Report& report) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.findings) {
    if (finding.hangs) lines.push_back(verdict_case::Summary(trace, finding));
  }
  return lines;
}

Certainty MostCertain(const Report& report) {
  Certainty most = Certainty::kInconclusive;
  for (const Finding& finding : report.findings) {
    if (finding.hangs) most = std::min(most, finding.certainty);
  }
  return most;
}

Trace Parse(const std::string& text) {
  Trace trace = verdict_case::Parse(text);
  AddRecentCheckpoints(&trace);
  return trace;
}

// A golden trace, its report from all records, and the result of a reader that requests records by
// need.
struct Golden {
  std::string name;
  DiagnoseOptions options;
  Trace trace;
  Report whole;
  ByNeed read;
};

std::vector<Golden> ReadAll(size_t newest, size_t most) {
  std::vector<Golden> all;
  for (const std::string& name : verdict_case::Names()) {
    const verdict_case::Case test = verdict_case::Load(name);
    Trace trace = Parse(test.trace);
    Report whole = Diagnose(trace, test.options);
    ByNeed read = Read(trace, test.options, newest, most);
    all.push_back({name, test.options, std::move(trace), std::move(whole), std::move(read)});
  }
  return all;
}

TEST(HistoryNeed, HangsEqualThoseFromWholeRings) {
  size_t cut = 0;
  for (const Golden& golden : ReadAll(kNewest, 64)) {
    const std::vector<std::string> hangs = Hangs(golden.trace, golden.whole);
    EXPECT_EQ(hangs, Hangs(golden.read.trace, golden.read.report)) << golden.name;
    const Trace newest = KeepNewest(golden.trace, 1);
    cut += hangs != Hangs(newest, Diagnose(newest, golden.options));
  }
  EXPECT_GT(cut, 10u) << "too few whose verdict needs old calls";
}

// With too few whole rings, a report may be less certain, but must not claim more.
TEST(HistoryNeed, NeverMoreCertainThanWithWholeRings) {
  for (const size_t newest : {size_t{1}, kNewest}) {
    for (const Golden& golden : ReadAll(newest, 3)) {
      if (Hangs(golden.trace, golden.whole).empty()) {
        EXPECT_THAT(Hangs(golden.read.trace, golden.read.report), ::testing::IsEmpty())
            << golden.name;
      }
      EXPECT_GE(MostCertain(golden.read.report), MostCertain(golden.whole)) << golden.name;
    }
  }
}

// Rank 5 skipped one call long ago; all other ranks made the same calls.
constexpr char kDrift[] =
    "ranks 8\n"
    "repeat 9\n"
    "  0-7: Barrier @ main:10\n"
    "  0-7: Allreduce sum 1xMPI_INT @ main:12\n"
    "end\n"
    "0-4,6,7: Barrier @ main:10\n"
    "5: Barrier @ main:14\n"
    "repeat 9\n"
    "  0-4,6,7: Barrier @ main:14\n"
    "  5: Barrier @ main:10\n"
    "  0-4,6,7: Barrier @ main:10\n"
    "  5: Barrier @ main:14\n"
    "end\n"
    "0-4,6,7: waits in Barrier @ main:14\n"
    "5: waits in Bcast root=0 1xMPI_INT @ main:30\n";

TEST(HistoryNeed, OneRankRepresentsThoseWithEqualHistories) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  EXPECT_THAT(SelectForWholeHistory(brief, Diagnose(brief), 4), UnorderedElementsAre(0, 5));
}

// Ranks 1 to 3 wait at the same place: one of them is enough.
TEST(HistoryNeed, VariablesAreReadOnBothSides) {
  Trace trace = Parse(
      "ranks 5\n"
      "0: waits in Allreduce sum 1xMPI_INT @ main:12\n"
      "1-3: waits in Barrier @ main:10\n"
      "4: waits in Barrier @ main:8\n");
  const Report report = Diagnose(trace);
  EXPECT_THAT(SelectForVariables(trace, report), UnorderedElementsAre(0, 1, 4));
  trace.processes[0].exit_mark = ring::ExitMark::kExit;
  EXPECT_TRUE(SelectForVariables(trace, report).empty()) << "the culprit is gone";
}

TEST(HistoryNeed, RequestsMissingCountsWithinTheLimit) {
  const Trace cut = Parse(
      "ranks 100\n"
      "0-99: waits in Alltoallv send=1xMPI_INT counts-cut @ main:12\n");
  // Two arrays of 100 counts, twelve in a slot, and some other calls.
  constexpr uint64_t kRecords = 32;
  constexpr uint64_t kBytes = kRecords * sizeof(ring::Record) * 100;
  const CountsNeed need = MissingCounts(cut, kBytes);
  EXPECT_EQ(need.processes.size(), 100u);
  EXPECT_EQ(need.newest_records, kRecords);
  EXPECT_TRUE(MissingCounts(cut, kBytes - 1).processes.empty());
  // The counts of two calls: ranks that left the call may have passed counts to another one.
  const Trace some_left = Parse(
      "ranks 100\n"
      "0-79: Alltoallv send=1xMPI_INT counts-cut @ main:12\n"
      "80-99: waits in Alltoallv send=1xMPI_INT counts-cut @ main:12\n"
      "0-79: waits in Barrier @ main:14\n");
  const CountsNeed of_both = MissingCounts(some_left, 100 * kBytes);
  EXPECT_EQ(of_both.processes.size(), 100u);
  EXPECT_EQ(of_both.newest_records, 2 * kRecords);
  const Trace other = Parse(
      "ranks 100\n"
      "0-99: waits in Allreduce sum 1xMPI_INT @ main:12\n");
  EXPECT_TRUE(MissingCounts(other, kBytes).processes.empty());
  const Trace not_all_there = Parse(
      "ranks 100\n"
      "0-98: waits in Alltoallv send=1xMPI_INT counts-cut @ main:12\n");
  EXPECT_TRUE(MissingCounts(not_all_there, kBytes).processes.empty());
}

TEST(HistoryNeed, RequestsAllMembersOfASmallCommunicator) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  EXPECT_EQ(SelectForWholeHistory(brief, Diagnose(brief), 8).size(), 8u);
}

// Ranks 0 to 3 wait at the same place as those that wait for rank 6.
TEST(HistoryNeed, RequestsAMemberThatWaitsForTheCulprit) {
  const Trace trace = Parse(
      "ranks 9\n"
      "comm first 0-3\n"
      "comm second 4-7\n"
      "comm pair 6,8\n"
      "0-3: waits in Allreduce on=first sum 1xMPI_INT @ main:12\n"
      "4,5,7: waits in Allreduce on=second sum 1xMPI_INT @ main:12\n"
      "6,8: waits in Barrier on=pair @ main:30\n");
  Report report;
  Finding& finding = report.findings.emplace_back();
  finding.world = 0;
  finding.culprits = {6};
  EXPECT_THAT(SelectForWholeHistory(trace, report, 9), UnorderedElementsAre(0, 4, 6));
}

TEST(HistoryNeed, TwoWholeRingsOfEightShowTheSkippedCall) {
  const Trace trace = Parse(kDrift);
  const ByNeed read = Read(trace, {}, kNewest, 4);
  EXPECT_EQ(Hangs(read.trace, read.report), Hangs(trace, Diagnose(trace)));
  ASSERT_FALSE(read.report.findings.empty());
  EXPECT_EQ(read.report.findings[0].sequence, 19u);
  EXPECT_THAT(read.report.findings[0].culprits, ElementsAre(5));
}

TEST(HistoryNeed, CauseIsOnlySuspectedWithoutWholeRings) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  const Report report = Diagnose(brief);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].certainty, Certainty::kProven);
  EXPECT_EQ(report.findings[0].kind_certainty, Certainty::kSuspected);
}

}  // namespace
}  // namespace rollcall::service
