// SPDX-License-Identifier: Apache-2.0
// Six hundred correct programs, each diagnosed after its end and at moments when a rank is only
// slow. No finding is allowed. A failure prints the seed and the trace, which can be kept as a case
// in tests/golden/verdicts/.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/collector/diagnosis/healthy_programs.h"
#include "tests/support/sanitizers.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

constexpr uint64_t kPrograms = Rounds(600);
constexpr int kCuts = 2;

class HealthyCorpus : public testing::Test {
 protected:
  // The first finding; empty if there is none.
  static std::string Said(const std::string& text, const DiagnoseOptions& options) {
    const TextTraceResult parsed = ParseTextTrace(text);
    if (!parsed.errors.empty()) return "unreadable: " + parsed.errors[0];
    for (const Finding& finding : Diagnose(parsed.trace, options).findings) {
      return fmt::format("{}, {}: {}", KindName(finding.kind), CertaintyName(finding.certainty),
                         finding.title);
    }
    return "";
  }

  static testing::AssertionResult SaysNothing(const healthy::Program& program,
                                              const std::string& text,
                                              const DiagnoseOptions& options = {}) {
    const std::string said = Said(text, options);
    if (said.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "seed " << program.seed << ": " << said << "\n" << text;
  }

  static std::vector<size_t> Whole(const healthy::Program& program) {
    std::vector<size_t> limits;
    for (const auto& code : program.code) limits.push_back(code.size());
    return limits;
  }
};

TEST_F(HealthyCorpus, CompleteProgramsHaveNoFinding) {
  // The programs need no buffering and have no straggler, so these options must not add findings.
  const DiagnoseOptions asked{.judge_buffering = true, .find_stragglers = true};
  std::set<std::string> used;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const healthy::Program program = healthy::Maker(seed).Make();
    used.insert(program.used.begin(), program.used.end());
    healthy::Run run(program, Whole(program), seed % 2 == 0);
    const std::string text = run.Trace();
    ASSERT_TRUE(run.finished()) << "seed " << seed << "\n" << text;
    ASSERT_TRUE(SaysNothing(program, text, asked));
  }
  EXPECT_EQ(used.size(), 23u);  // every pattern was used
}

TEST_F(HealthyCorpus, ProgramsWithSlowRanksHaveNoFinding) {
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const healthy::Program program = healthy::Maker(seed).Make();
    std::mt19937_64 random(seed);
    const DiagnoseOptions asked{.judge_buffering = true, .find_stragglers = true};
    for (int cut = 0; cut < kCuts; ++cut) {
      std::vector<size_t> limits = Whole(program);
      const int slow = 1 + static_cast<int>(random() % 2);
      for (int i = 0; i < slow; ++i) {
        const size_t rank = random() % limits.size();
        if (!program.code[rank].empty()) limits[rank] = random() % program.code[rank].size();
      }
      healthy::Run run(program, limits, random() % 2 == 0);
      const std::string text = run.Trace();
      // Immediately, and after a time that a slow rank may need.
      ASSERT_TRUE(SaysNothing(program, text, asked));
      ASSERT_TRUE(SaysNothing(program, text + "idle 20\n"));
    }
  }
}

// The slow rank may be the one whose trace is missing. Each ring has lost a different number of its
// oldest records.
TEST_F(HealthyCorpus, MissingTracesAndRecordsGiveNoFinding) {
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const healthy::Program program = healthy::Maker(seed).Make();
    std::mt19937_64 random(seed);
    std::vector<size_t> limits = Whole(program);
    const size_t rank = random() % limits.size();
    const bool whole = random() % 2 == 0;
    if (!whole && !program.code[rank].empty()) limits[rank] = random() % program.code[rank].size();
    std::string text = healthy::Run(program, limits, random() % 2 == 0).Trace();
    const std::string beginnings_lost = [&] {
      std::string lines;
      for (size_t r = 0; r < limits.size(); ++r) {
        lines += fmt::format("{}: loses {}\n", r, random() % 12);
      }
      return lines;
    }();
    ASSERT_TRUE(SaysNothing(program, text + beginnings_lost));
    text += fmt::format("{}: has no trace\n", rank);
    ASSERT_TRUE(SaysNothing(program, text));
    ASSERT_TRUE(SaysNothing(program, text + beginnings_lost));
  }
}

}  // namespace
}  // namespace rollcall
