// SPDX-License-Identifier: Apache-2.0
// Every case of tests/golden/verdicts/: see verdict_case.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/text_trace.h"
#include "tests/support/verdict_case.h"

namespace rollcall {
namespace {

class VerdictCase : public testing::TestWithParam<std::string> {};

TEST_P(VerdictCase, IsAsExpected) {
  const verdict_case::Case test = verdict_case::Load(GetParam());
  const TextTraceResult parsed = ParseTextTrace(test.trace);
  ASSERT_EQ(parsed.errors, std::vector<std::string>{});
  EXPECT_EQ(
      fmt::format("{}", fmt::join(test.expected, "\n")),
      fmt::format("{}", fmt::join(verdict_case::Summaries(parsed.trace, test.options), "\n")));
  const std::string sentences = verdict_case::Sentences(parsed.trace, test.options);
  for (const std::string& text : test.says) {
    EXPECT_NE(sentences.find(text), std::string::npos) << text << "\nnot in\n" << sentences;
  }
  for (const std::string& text : test.never) {
    EXPECT_EQ(sentences.find(text), std::string::npos) << text << "\nin\n" << sentences;
  }
}

TEST(VerdictCases, EveryKindHasAGoldenCase) {
  std::set<std::string> expected;
  for (const std::string& name : verdict_case::Names()) {
    for (std::string line : verdict_case::Load(name).expected) {
      if (line.starts_with("silent ")) line.erase(0, 7);
      expected.insert(line.substr(0, line.find_first_of(", ")));
    }
  }
  for (const char* kind : {
#define KIND(identifier, name, ...) name,
#include "collector/diagnosis/verdict/kinds.def"
#undef KIND
       }) {
    EXPECT_TRUE(expected.contains(kind)) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, VerdictCase, testing::ValuesIn(verdict_case::Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rollcall
