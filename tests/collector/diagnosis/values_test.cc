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

// The texts of the finding about two ranks that part in exchange(), which has `source`. Rank 0 is
// the culprit.
std::vector<std::string> TextsOf(const std::string& source, const std::string& frames) {
  const TextTraceResult parsed = ParseTextTrace("ranks 3\n" + source + "\n" + frames);
  EXPECT_THAT(parsed.errors, IsEmpty());
  const Report report = Diagnose(parsed.trace, {});
  EXPECT_EQ(report.findings.size(), 1U);
  return report.findings.empty() ? std::vector<std::string>() : ValueTexts(report.findings[0]);
}

std::string Parted(const std::string& on_0, const std::string& on_others) {
  return "0: variables " + on_0 + " @ main:30 > exchange:18\n1,2: variables " + on_others +
         " @ main:30 > exchange:16\n"
         "0: waits in Allreduce sum 1xMPI_INT @ main:30 > exchange:18\n"
         "1,2: waits in Barrier @ main:30 > exchange:16\n";
}

TEST(Values, OfARankNumberAreShownIfNothingElseDecides) {
  constexpr char kOne[] = "source function=10-20 arms=15-16:rank!=0";
  const std::string ranks =
      "1: variables rank=1 a=2 @ main:30 > exchange:16\n"
      "2: variables rank=2 a=2 @ main:30 > exchange:16\n"
      "0: waits in Allreduce sum 1xMPI_INT @ main:30 > exchange:18\n"
      "1,2: waits in Barrier @ main:30 > exchange:16\n";
  EXPECT_THAT(TextsOf(kOne, "0: variables rank=0 a=1 @ main:30 > exchange:18\n" + ranks),
              ElementsAre("rank is 0 on rank 0, 1 on rank 1 and 2 on rank 2 (in exchange())",
                          "a is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
  EXPECT_THAT(TextsOf("source function=10-20 arms=15-16:rank!=0||a>1",
                      "0: variables rank=0 a=1 @ main:30 > exchange:18\n" + ranks),
              ElementsAre("a is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
  EXPECT_THAT(TextsOf("source function=10-20 arms=15-16:b",
                      "0: variables rank=0 a=1 @ main:30 > exchange:18\n" + ranks),
              ElementsAre("a is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
}

TEST(Values, OfTheConditionsOfLoopsAndExits) {
  EXPECT_THAT(TextsOf("source function=10-20 loop=12-17:i<n", Parted("n=3? m=1?", "n=4? m=2?")),
              ElementsAre("n is 3 on rank 0 and 4 on ranks 1,2 (in exchange())"));
  // Both ranks have passed the first exit, neither has reached the last one.
  EXPECT_THAT(TextsOf("source function=10-20 return=12:a continue=17:b return=19:c",
                      Parted("a=1? b=1? c=1?", "a=2? b=2? c=2?")),
              ElementsAre("b is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
  // A loop around both leads from the last exit to the first line.
  EXPECT_THAT(TextsOf("source function=10-20 loop=11-20 return=12:a break=19:c",
                      Parted("a=1? c=1?", "a=2? c=2?")),
              ElementsAre("a is 1 on rank 0 and 2 on ranks 1,2 (in exchange())",
                          "c is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
}

// Rank 0 skips the barrier, and waits for a message. If it has been there more often than between
// two barriers before, or if it is before the barrier, it is in a later round.
TEST(Values, OfARankThatHasGoneRoundAreNotShown) {
  constexpr char kInLoop[] = "source function=10-20 arms=15-16:step<3 loop=11-19";
  const auto round = [](const std::string& line) {
    return "0-2: Barrier @ main:30 > exchange:16\n"
           "1: Send 1xMPI_INT peer=0 tag=4 @ main:30 > exchange:18\n"
           "0: Recv 1xMPI_INT peer=1 tag=4 @ main:30 > exchange:" +
           line + "\n";
  };
  const auto now = [](const std::string& line) {
    return "0: variables step=9 @ main:30 > exchange:" + line +
           "\n1,2: variables step=2 @ main:30 > exchange:16\n"
           "0: waits in Recv 1xMPI_INT peer=1 tag=4 @ main:30 > exchange:" +
           line + "\n1,2: waits in Barrier @ main:30 > exchange:16\n";
  };
  const std::string further =
      "1: Send 1xMPI_INT peer=0 tag=4 @ main:30 > exchange:18\n"
      "0: Recv 1xMPI_INT peer=1 tag=4 @ main:30 > exchange:18\n";
  const auto shown = ElementsAre("step is 9 on rank 0 and 2 on ranks 1,2 (in exchange())");
  EXPECT_THAT(TextsOf(kInLoop, round("18") + round("18") + now("18")), shown);
  EXPECT_THAT(TextsOf(kInLoop, round("18") + round("18") + further + now("18")), IsEmpty());
  EXPECT_THAT(TextsOf(kInLoop, round("12") + round("12") + now("12")), IsEmpty());
}

TEST(Values, OfTwoZerosDoNotDiffer) {
  EXPECT_THAT(
      TextsOf("source function=10-20 arms=15-16:x>z", Parted("x=-0.0 z=1.5", "x=0.0 z=2.5")),
      ElementsAre("z is 1.5 on rank 0 and 2.5 on ranks 1,2 (in exchange())"));
}

TEST(Values, ThatCannotBeShownHaveAReason) {
  constexpr char kSkip[] = "source function=10-20 arms=15-16:!skip&&rest";
  EXPECT_THAT(TextsOf(kSkip, Parted("skip=lost? n=1", "skip=False?  n=1")),
              ElementsAre("skip is false on ranks 1,2 and optimized out on rank 0 (in exchange()); "
                          "put rollcall_value(\"skip\", skip) before the branch"));
  EXPECT_THAT(TextsOf(kSkip, Parted("skip=lost? n=1", "skip=lost?  n=2")),
              ElementsAre("skip is optimized out on ranks 0-2 (in exchange()); put "
                          "rollcall_value(\"skip\", skip) before the branch",
                          "n is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
  EXPECT_THAT(TextsOf(kSkip, Parted("skip=lost? n=1", "skip=[3]?  n=1")),
              ElementsAre("skip is of length 3 on ranks 1,2 and optimized out on rank 0 (in "
                          "exchange()); put rollcall_value(\"skip\", skip.size()) before the "
                          "branch"));
  EXPECT_THAT(TextsOf("source function=10-20 arms=15-16:done(a)", Parted("a=1", "a=1")),
              ElementsAre("the condition in exchange() calls done(); pass the result to "
                          "rollcall_value() before the branch"));
  EXPECT_THAT(TextsOf("source function=10-20 arms=15-16:comm.rank",
                      Parted("comm.rank=computed?", "comm.rank=computed?")),
              ElementsAre("the condition in exchange() computes comm.rank; pass the result to "
                          "rollcall_value() before the branch"));
  // A value that differs, a recorded value, or a missing source leaves no question.
  EXPECT_THAT(TextsOf(kSkip, Parted("skip=lost? rest=1", "skip=lost? rest=2")),
              ElementsAre("rest is 1 on rank 0 and 2 on ranks 1,2 (in exchange())"));
  EXPECT_THAT(TextsOf(kSkip, "0: value x 1 @ main:5\n1,2: value x 2 @ main:5\n" +
                                 Parted("skip=lost?", "skip=False?")),
              ElementsAre("x is 1 on rank 0 and 2 on ranks 1,2 (app.c:5)"));
  EXPECT_THAT(TextsOf("", Parted("skip=lost?", "skip=lost?")), IsEmpty());
}

// Rank 0 has returned from exchange(), in which the others wait.
TEST(Values, OfAFunctionThatRanksHaveLeftAreGone) {
  const std::string frames =
      "0: variables n=1 @ main:31\n"
      "1,2: variables n=1 @ main:30\n"
      "1,2: variables skip=False a=3 @ main:30 > exchange:16\n"
      "0: waits in Allreduce sum 1xMPI_INT @ main:31\n"
      "1,2: waits in Barrier @ main:30 > exchange:16\n";
  const std::string gone =
      "skip is false on ranks 1,2 and gone with its frame on rank 0 (in exchange()); put "
      "rollcall_value(\"skip\", skip) before the branch";
  EXPECT_THAT(TextsOf("source function=10-20 function=29-40 arms=15-16:!skip", frames),
              ElementsAre(gone));
  EXPECT_THAT(TextsOf("source function=10-20 function=29-40 return=12:skip", frames),
              ElementsAre(gone));
  EXPECT_THAT(TextsOf("source function=10-20 function=29-40 return=17:skip", frames), IsEmpty());
  // A global is there after the return.
  std::string global = frames;
  global.replace(global.find("skip=False"), 10, "skip=False!");
  EXPECT_THAT(TextsOf("source function=10-20 function=29-40 arms=15-16:!skip", global), IsEmpty());
  EXPECT_THAT(TextsOf("source function=10-20 function=29-40 arms=15-16:other", frames), IsEmpty());
}

// In the loop, rank 0 waits in save(), from which the others have returned.
TEST(Values, OfTheCulpritsFunctionAreGoneOnTheOthers) {
  EXPECT_THAT(
      TextsOf("source function=10-20 function=29-40 loop=30-35 arms=15-16:step==4",
              "0-2: Allreduce sum 1xMPI_INT @ main:31\n"
              "0: variables n=1 @ main:32\n"
              "0: variables step=4 @ main:32 > save:16\n"
              "1,2: variables n=1 @ main:31\n"
              "0: waits in Barrier @ main:32 > save:16\n"
              "1,2: waits in Allreduce sum 1xMPI_INT @ main:31\n"),
      ElementsAre("step is 4 on rank 0 and gone with its frame on ranks 1,2 (in save()); put "
                  "rollcall_value(\"step\", step) before the branch"));
}

// Rank 0 has started nothing at line 16, and waits at another line than where it parted.
TEST(Values, AreOfTheLinesThatTheFindingShows) {
  EXPECT_THAT(TextsOf("source function=10-40 arms=15-16:go",
                      "0: variables go=0? @ main:20\n"
                      "1,2: variables go=1? @ main:18\n"
                      "1,2: Iallreduce 1xMPI_INT sum request=a @ main:16\n"
                      "0: waits in Bcast root=0 1xMPI_INT @ main:20\n"
                      "1,2: waits in Wait for=a @ main:18\n"),
              ElementsAre("go is 0 on rank 0 and 1 on ranks 1,2 (in main())"));
}

// Rank 0 has left the loop and made a call that does not wait for the others.
TEST(Values, OfCulpritsThatWentFurtherNeedTheSameRound) {
  const std::string frames =
      "repeat 3\n"
      "0-2: Allreduce sum 1xMPI_INT @ main:12\n"
      "end\n"
      "0: Gather root=1 1xMPI_INT @ main:20\n"
      "0: variables n=3 @ main:21\n"
      "1,2: variables n=4 @ main:12\n"
      "0: waits in Barrier @ main:21\n"
      "1,2: waits in Allreduce sum 1xMPI_INT @ main:12\n";
  EXPECT_THAT(TextsOf("source function=5-30 loop=11-13:i<n", frames),
              ElementsAre("n is 3 on rank 0 and 4 on ranks 1,2 (in main())"));
  EXPECT_THAT(TextsOf("source function=5-30 loop=6-25 loop=11-13:i<n", frames), IsEmpty());
  EXPECT_THAT(TextsOf("", frames), IsEmpty());
}

// The variable of a loop has the value of the rank by chance, whatever its name.
TEST(Values, OfAnotherRoundAreRankNumbersOnly) {
  const auto texts = [](const std::string& conditions) {
    return TextsOf("source function=5-30 loop=6-25" + conditions,
                   "repeat 3\n"
                   "0-2: Allreduce sum 1xMPI_INT @ main:12\n"
                   "end\n"
                   "0: Gather root=1 1xMPI_INT @ main:20\n"
                   "0: variables i=0 my_rank=0 n=5 @ main:21\n"
                   "1: variables i=1 my_rank=1 n=6 @ main:12\n"
                   "0: waits in Barrier @ main:21\n"
                   "1,2: waits in Allreduce sum 1xMPI_INT @ main:12\n");
  };
  EXPECT_THAT(texts(" arms=11-13:i<n&&my_rank"),
              ElementsAre("my_rank is 0 on rank 0 and 1 on rank 1 (in main())"));
  EXPECT_THAT(texts(" loop=11-13:my_rank<n"), IsEmpty());
}

}  // namespace
}  // namespace rollcall
