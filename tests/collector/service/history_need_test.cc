// A verdict from the records that are asked for, against the one from all of them.
#include "collector/service/history_need.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/newest_records.h"
#include "tests/support/verdict_case.h"

namespace rollcall::service {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// As many as a collector asks for first of each ring buffer of a large job.
constexpr size_t kNewest = 4;

struct ByNeed {
  Trace trace;
  Report report;
};

// Reads as a collector does that may ask for `most` whole rings.
ByNeed Read(const Trace& trace, const DiagnoseOptions& options, size_t newest, size_t most) {
  ByNeed read;
  std::set<uint32_t> whole;
  for (size_t had = 1; had != whole.size() || whole.empty();) {
    had = whole.size();
    read.trace = KeepNewest(trace, newest, whole);
    read.report = Diagnose(read.trace, options);
    whole.merge(WorthWholeHistory(read.trace, read.report, most - whole.size()));
    if (whole.size() == had) break;
  }
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

TEST(HistoryNeed, EveryHangIsTheOneThatWholeRingsShow) {
  size_t cut = 0;
  for (const std::string& name : verdict_case::Names()) {
    const verdict_case::Case test = verdict_case::Load(name);
    Trace trace = verdict_case::Parse(test.trace);
    AddRecentCheckpoints(&trace);
    const Report whole = Diagnose(trace, test.options);
    const ByNeed read = Read(trace, test.options, kNewest, 64);
    EXPECT_EQ(Hangs(trace, whole), Hangs(read.trace, read.report)) << name;
    cut += Hangs(trace, whole) != Hangs(read.trace, Diagnose(KeepNewest(trace, 1), test.options));
  }
  EXPECT_GT(cut, 10u) << "too few whose verdict needs old calls";
}

// Fewer rings than would say all: less may be known, nothing else may be said.
TEST(HistoryNeed, NothingIsMoreCertainThanWholeRingsShow) {
  for (const size_t newest : {size_t{1}, kNewest}) {
    for (const std::string& name : verdict_case::Names()) {
      const verdict_case::Case test = verdict_case::Load(name);
      Trace trace = verdict_case::Parse(test.trace);
      AddRecentCheckpoints(&trace);
      const Report whole = Diagnose(trace, test.options);
      const ByNeed read = Read(trace, test.options, newest, 3);
      if (Hangs(trace, whole).empty()) {
        EXPECT_THAT(Hangs(read.trace, read.report), ::testing::IsEmpty()) << name;
      }
      EXPECT_GE(MostCertain(read.report), MostCertain(whole)) << name;
    }
  }
}

Trace Parse(const std::string& text) {
  Trace trace = verdict_case::Parse(text);
  AddRecentCheckpoints(&trace);
  return trace;
}

// Rank 5 left one call out long ago; all others did the same.
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

TEST(HistoryNeed, OneOfThoseThatDidTheSameStandsForAll) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  EXPECT_THAT(WorthWholeHistory(brief, Diagnose(brief), 4), UnorderedElementsAre(0, 5));
}

TEST(HistoryNeed, AllMembersOfASmallCommunicatorAreWorthIt) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  EXPECT_EQ(WorthWholeHistory(brief, Diagnose(brief), 8).size(), 8u);
}

TEST(HistoryNeed, TwoWholeRingsOfEightShowWhereOneLeftACallOut) {
  const Trace trace = Parse(kDrift);
  const ByNeed read = Read(trace, {}, kNewest, 4);
  EXPECT_EQ(Hangs(read.trace, read.report), Hangs(trace, Diagnose(trace)));
  ASSERT_FALSE(read.report.findings.empty());
  EXPECT_EQ(read.report.findings[0].sequence, 19u);
  EXPECT_THAT(read.report.findings[0].culprits, ElementsAre(5));
}

TEST(HistoryNeed, WithoutThemTheCauseIsSuspectedOnly) {
  const Trace brief = KeepNewest(Parse(kDrift), kNewest);
  const Report report = Diagnose(brief);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].certainty, Certainty::kProven);
  EXPECT_EQ(report.findings[0].kind_certainty, Certainty::kSuspected);
}

}  // namespace
}  // namespace rollcall::service
