// Every case of tests/golden/verdicts/: see verdict_case.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Golden, VerdictCase, testing::ValuesIn(verdict_case::Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rollcall
