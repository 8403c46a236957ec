// SPDX-License-Identifier: Apache-2.0
// Kept lines give the same excerpts as the files they were taken from.
#include "collector/bundle/kept_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Text(const SourceExcerpt& excerpt) {
  std::string text;
  for (const ExcerptLine& line : excerpt.lines) {
    text += std::to_string(line.line_no) + (line.marked ? "> " : "  ") + line.text + "\n";
  }
  return text;
}

class KeptSourcesTest : public ::testing::Test {
 protected:
  KeptSourcesTest() {
    file_ = root_.Write("a.c",
                        "void f(int n) {\n"
                        "  for (int i = 0; i < n; ++i) {\n"
                        "    int x = g(i);\n"
                        "\n"
                        "    if (x) {\n"
                        "      before();\n"
                        "      barrier();\n"
                        "      after();\n"
                        "    }\n"
                        "    allreduce();\n"
                        "  }\n"
                        "}\n");
  }

  TemporaryDirectory root_;
  std::string file_;
};

TEST_F(KeptSourcesTest, GivesTheSameExcerptsAsTheFile) {
  KeptSources kept;
  kept.Keep(file_, 7);
  kept.Keep(file_, 10);
  const std::string both = Text(ReadSourceExcerpt(file_, {7, 10}));
  const std::string one = Text(ReadSourceExcerpt(file_, {10}));
  ASSERT_NE(both, one);
  KeptSources read;
  ASSERT_TRUE(read.Parse(kept.Format()));
  fs::remove(file_);
  EXPECT_EQ(Text(read.Excerpt(file_, {7, 10})), both);
  EXPECT_EQ(Text(read.Excerpt(file_, {10})), one);
  EXPECT_THAT(read.Excerpt(file_, {3}).error, Not(IsEmpty())) << "that line was not kept";
}

TEST_F(KeptSourcesTest, ReadsFilesThatWereNotKept) {
  EXPECT_EQ(Text(KeptSources().Excerpt(file_, {7})), Text(ReadSourceExcerpt(file_, {7})));
}

TEST_F(KeptSourcesTest, DoesNotKeepUnreadableLines) {
  KeptSources kept;
  kept.Keep(root_.Path("missing.c"), 1);
  kept.Keep(file_, 4000);
  kept.Keep(file_, 0);
  EXPECT_TRUE(kept.empty());
}

TEST_F(KeptSourcesTest, SkipsDamagedLines) {
  KeptSources kept;
  kept.Keep(file_, 7);
  KeptSources read;
  EXPECT_FALSE(read.Parse("not json\n" + kept.Format() + "{\"file\":1}\n[]\n"));
  EXPECT_EQ(Text(read.Excerpt(file_, {7})), Text(kept.Excerpt(file_, {7})));
  KeptSources wild;
  EXPECT_FALSE(wild.Parse(R"({"file":"x","text":{"0":"a","1":5,"2":"\u001b[2J","x":"y"},)"
                          R"("shown":{"2":[2,3,-1,99999999999,"2"],"9":{}}})"));
  EXPECT_EQ(Text(wild.Excerpt("x", {2})), "2> \xef\xbf\xbd[2J\n");
}

}  // namespace
}  // namespace rollcall
