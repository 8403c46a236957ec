// SPDX-License-Identifier: Apache-2.0
// The values that a finding shows: which, in which order, and in which words.
#include "collector/diagnosis/wording/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of the only finding.
std::vector<std::string> ValuesOf(const std::string& text) {
  const TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_THAT(parsed.errors, IsEmpty());
  const Report report = Diagnose(parsed.trace, {});
  std::vector<std::string> values;
  EXPECT_EQ(report.findings.size(), 1U);
  if (report.findings.empty()) return values;
  for (const ComparedValue& value : report.findings[0].values) values.push_back(ValueText(value));
  return values;
}

constexpr char kHang[] =
    "0-2: Barrier @ main:9\n"
    "0,2: waits in Barrier @ main:10\n"
    "1: waits in Allreduce sum 1xMPI_INT @ main:12\n";

TEST(Values, ThatSeparateTheCulpritsComeFirst) {
  EXPECT_THAT(ValuesOf(std::string("ranks 3\n"
                                   "0: value a 1 @ main:5\n"
                                   "1,2: value a 2 @ main:5\n"
                                   "0: value b 1 @ main:6\n"
                                   "1: value b 2 @ main:6\n"
                                   "2: value b 3 @ main:6\n"
                                   "0-2: value c 7 @ main:7\n"
                                   "0,2: value d -1 @ main:8\n"
                                   "1: value d 0.5 @ main:8\n") +
                       kHang),
              ElementsAre("d is 0.5 on rank 1 and -1 on ranks 0,2 (app.c:8)",
                          "a is 2 on ranks 1,2 and 1 on rank 0 (app.c:5)",
                          "b is 2 on rank 1, 1 on rank 0 and 3 on rank 2 (app.c:6)"));
}

TEST(Values, OfBytesAreNotShown) {
  const std::vector<std::string> values = ValuesOf(
      std::string("ranks 3\n0,2: value s 'one' @ main:5\n1: value s 'two' @ main:5\n") + kHang);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_THAT(values[0], ::testing::MatchesRegex(
                             "s is bytes with hash [0-9a-f]* on rank 1 and bytes with hash "
                             "[0-9a-f]* on ranks 0,2 \\(app.c:5\\)"));
}

TEST(Values, OfManyKindsAreCounted) {
  std::string text = "ranks 8\n";
  for (int rank = 0; rank < 8; ++rank) {
    text += std::to_string(rank) + ": value seed " + std::to_string(100 + rank) + " @ main:5\n";
  }
  text +=
      "0-6: waits in Barrier @ main:10\n"
      "7: waits in Allreduce sum 1xMPI_INT @ main:12\n";
  EXPECT_THAT(ValuesOf(text),
              ElementsAre("seed is 107 on rank 7, 100 on rank 0, 101 on rank 1, 102 on rank 2, and "
                          "4 other values on 4 ranks (app.c:5)"));
}

TEST(Values, OfOneSideAloneExplainNothing) {
  EXPECT_THAT(ValuesOf(std::string("ranks 3\n"
                                   "0: value a 1 @ main:5\n"
                                   "2: value a 2 @ main:5\n") +
                       kHang),
              IsEmpty());
}

// An uninitialized variable may differ by chance. `flag` is one, too, but the condition reads it.
TEST(Values, ThatMayBeUnsetAreShownIfTheConditionNamesThem) {
  EXPECT_THAT(ValuesOf("ranks 2\n"
                       "source function=10-20 arms=15-16:flag>0\n"
                       "0: variables start=32767? flag=5? n=1 @ main:30 > exchange:18\n"
                       "1: variables start=0? flag=7? n=2 @ main:30 > exchange:16\n"
                       "0: waits in Allreduce sum 1xMPI_INT @ main:30 > exchange:18\n"
                       "1: waits in Barrier @ main:30 > exchange:16\n"),
              ElementsAre("flag is 5 on rank 0 and 7 on rank 1 (in exchange())",
                          "n is 1 on rank 0 and 2 on rank 1 (in exchange())"));
}

// The condition names `skip`; `aside` differs, too, and is an earlier variable.
TEST(Values, ThatTheConditionNamesComeFirst) {
  EXPECT_THAT(ValuesOf("ranks 2\n"
                       "source train.py function=10-20 arms=15-16:not(skip)\n"
                       "0: variables rank=0 files=[2] both=1 @ <module>(train.py:30)\n"
                       "1: variables rank=1 files=[3] both=2 @ <module>(train.py:30)\n"
                       "0: variables aside=1 skip=True both=1 rate=0.5 best=None @ "
                       "<module>(train.py:30) > exchange(train.py:18)\n"
                       "1: variables aside=2 skip=False both=2 rate=0.5 best=3 @ "
                       "<module>(train.py:30) > exchange(train.py:16)\n"
                       "0: waits in Allreduce sum 1xMPI_INT @ <module>(train.py:30) > "
                       "exchange(train.py:18)\n"
                       "1: waits in Barrier @ <module>(train.py:30) > exchange(train.py:16)\n"),
              ElementsAre("skip is False on rank 1 and True on rank 0 (in exchange())",
                          "aside is 1 on rank 0 and 2 on rank 1 (in exchange())",
                          "both is 1 on rank 0 and 2 on rank 1 (in exchange())",
                          "best is 3 on rank 1 and None on rank 0 (in exchange())",
                          "files is of length 2 on rank 0 and of length 3 on rank 1 (in the top "
                          "level of train.py)"));
}

}  // namespace
}  // namespace rollcall
