// SPDX-License-Identifier: Apache-2.0
// The baseline as text, and which findings count.
#include "collector/check/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rollcall {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Weight = Ruling::Weight;

Finding Deadlock() {
  Finding finding;
  finding.kind = VerdictKind::kP2pDeadlock;
  finding.certainty = Certainty::kLikely;
  Site site;
  site.frame.file = "/home/user/app/src/halo.c";
  site.frame.function = "exchange_halo";
  site.frame.line = 12;
  finding.sites.push_back(site);
  return finding;
}

bool Fits(const std::string& entry, const Finding& finding = Deadlock()) {
  std::vector<std::string> errors;
  const Baseline baseline = ParseBaseline(entry + " because of a reason", "b", &errors);
  EXPECT_THAT(errors, IsEmpty());
  return baseline.entries.size() == 1 && baseline.entries.front().Fits(finding);
}

TEST(Baseline, FitsByKindAndFile) {
  EXPECT_TRUE(Fits("p2p-deadlock at src/halo.c"));
  EXPECT_TRUE(Fits("p2p-deadlock at halo.c"));
  EXPECT_TRUE(Fits("p2p-deadlock at src/*.c"));
  EXPECT_TRUE(Fits("p2p-deadlock at /home/user/app/src/halo.c"));
  EXPECT_FALSE(Fits("p2p-deadlock at alo.c"));
  EXPECT_FALSE(Fits("p2p-deadlock at src"));
  EXPECT_FALSE(Fits("p2p-unmatched at halo.c"));
}

TEST(Baseline, FitsByFunction) {
  EXPECT_TRUE(Fits("p2p-deadlock in exchange_halo"));
  EXPECT_TRUE(Fits("p2p-deadlock in exchange*"));
  EXPECT_FALSE(Fits("p2p-deadlock in exchange"));
  EXPECT_FALSE(Fits("p2p-deadlock in halo.c"));
}

TEST(Baseline, OnlyStarFitsFindingsWithoutCallSite) {
  Finding nowhere = Deadlock();
  nowhere.sites.clear();
  EXPECT_TRUE(Fits("p2p-deadlock at *", nowhere));
  EXPECT_TRUE(Fits("p2p-deadlock in *", nowhere));
  EXPECT_FALSE(Fits("p2p-deadlock at *.c", nowhere));
}

TEST(Baseline, IgnoresCommentsBlanksAndLineEndings) {
  std::vector<std::string> errors;
  const Baseline baseline = ParseBaseline(
      "# known\r\n\r\n  p2p-deadlock\tin  operator new  because it is because of X  \r\n", "b",
      &errors);
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_EQ(baseline.entries.size(), 1U);
  EXPECT_EQ(baseline.entries[0].pattern, "operator new");
  EXPECT_EQ(baseline.entries[0].reason, "it is because of X");
  EXPECT_EQ(baseline.entries[0].line, 3);
}

TEST(Baseline, ReportsInvalidEntriesWithTheirLines) {
  std::vector<std::string> errors;
  const Baseline baseline = ParseBaseline(
      "p2p-deadlok in main because typo\n"
      "p2p-deadlock main because where\n"
      "p2p-deadlock in main\n"
      "p2p-deadlock in main because \n"
      "p2p-deadlock in because nothing is named\n"
      "p2p-deadlock in main because it is fine",
      "dir/known", &errors);
  EXPECT_THAT(
      errors,
      ElementsAre("dir/known:1: 'p2p-deadlok' is not a kind of finding",
                  "dir/known:2: 'at FILE' or 'in FUNCTION' is missing after 'p2p-deadlock'",
                  "dir/known:3: no reason: every entry ends in 'because …'",
                  "dir/known:4: no reason after 'because'", "dir/known:5: no pattern after 'in'"));
  EXPECT_EQ(baseline.entries.size(), 1U);
}

TEST(FailOn, ParsesKindsErrorsAllAndNone) {
  EXPECT_THAT(*ParseFailOn("desync,request-leak"),
              ElementsAre(VerdictKind::kDesync, VerdictKind::kRequestLeak));
  EXPECT_TRUE(ParseFailOn("errors")->contains(VerdictKind::kRankDied));
  EXPECT_FALSE(ParseFailOn("errors")->contains(VerdictKind::kRequestLeak));
  EXPECT_TRUE(ParseFailOn("errors,request-leak")->contains(VerdictKind::kRequestLeak));
  EXPECT_EQ(ParseFailOn("all")->size(), kKinds.size());
  EXPECT_THAT(*ParseFailOn("none"), IsEmpty());
  for (const char* wrong : {"", "desync,", "desnyc", "all,none", "desync, straggler"}) {
    EXPECT_FALSE(ParseFailOn(wrong)) << wrong;
  }
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    policy_.fail_on = *ParseFailOn("errors");
    report_.findings.push_back(Deadlock());
  }
  Weight Only() {
    unused_.clear();
    return Judge(report_, policy_, &unused_).front().weight;
  }

  Policy policy_;
  Report report_;
  std::vector<std::string> unused_;
};

TEST_F(JudgeTest, SuspectedFindingFailsOnlyIfTheJobHangs) {
  EXPECT_EQ(Only(), Weight::kFails);
  report_.findings.front().certainty = Certainty::kSuspected;
  EXPECT_EQ(Only(), Weight::kWarning);
  report_.findings.front().hangs = true;
  EXPECT_EQ(Only(), Weight::kWarning);
  report_.status = Report::Status::kHung;
  EXPECT_EQ(Only(), Weight::kFails);
}

TEST_F(JudgeTest, OnlyRequestedKindsFail) {
  policy_.fail_on = {VerdictKind::kDesync};
  EXPECT_EQ(Only(), Weight::kWarning);
  report_.findings.front().kind = VerdictKind::kRequestLeak;
  EXPECT_EQ(Only(), Weight::kNote);
  policy_.fail_on = {VerdictKind::kRequestLeak};
  EXPECT_EQ(Only(), Weight::kFails);
}

TEST_F(JudgeTest, BaselineExcusesFindingsAndReportsUnusedEntries) {
  std::vector<std::string> errors;
  policy_.baseline = ParseBaseline(
      "p2p-deadlock in exchange* because small\np2p-deadlock at solver.c because old\n", "known",
      &errors);
  const std::vector<Ruling> rulings = Judge(report_, policy_, &unused_);
  EXPECT_EQ(rulings.front().weight, Weight::kKnown);
  EXPECT_EQ(rulings.front().reason, "small");
  EXPECT_THAT(unused_, ElementsAre("known:2: matched no finding: p2p-deadlock at solver.c"));
}

}  // namespace
}  // namespace rollcall
