// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/source_excerpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_program.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MarkerLine;

// One line each: "*" if marked, the text; "--" where lines were left out.
std::string Shape(const SourceExcerpt& excerpt) {
  std::string shape = excerpt.error;
  int last = 0;
  for (const ExcerptLine& line : excerpt.lines) {
    if (last != 0 && line.line_no != last + 1) shape += "--\n";
    shape += (line.marked ? "*" : " ") + line.text + "\n";
    last = line.line_no;
  }
  return shape;
}

constexpr ExcerptOptions kNoContext{.context_before = 0, .context_after = 0};

TEST(SourceExcerptTest, ShowsMarkedLinesAndTheConditionAroundThem) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("solver.c",
                                     "void exchange_halo(void) {\n"
                                     "  prepare();\n"
                                     "  if (rank != 0) {\n"
                                     "    log();\n"
                                     "\n"
                                     "#ifdef X\n"
                                     "    MPI_Barrier(comm);  // one\n"
                                     "#endif\n"
                                     "  }\n"
                                     "  work();\n"
                                     "  MPI_Allreduce(comm);  // two\n"
                                     "}\n");
  const std::vector<int> marked = {MarkerLine(file, "// two"), MarkerLine(file, "// one")};
  const SourceExcerpt excerpt = ReadSourceExcerpt(file, marked, kNoContext);
  EXPECT_EQ(Shape(excerpt),
            "   if (rank != 0) {\n"
            "--\n"
            "*    MPI_Barrier(comm);  // one\n"
            "--\n"
            "*  MPI_Allreduce(comm);  // two\n");
  EXPECT_EQ(excerpt.lines[1].line_no, marked[1]);
  EXPECT_GT(excerpt.modified_ns, 0);
}

TEST(SourceExcerptTest, ContextSkipsBlankLinesAndMerges) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("a.f90", "one\n\ntwo\nthree\nfour\nfive\nsix\n");
  EXPECT_EQ(Shape(ReadSourceExcerpt(file, {3, 5}, {})), "*two\n three\n*four\n five\n");
  EXPECT_EQ(Shape(ReadSourceExcerpt(file, {1, 7}, {})), "*one\n--\n five\n*six\n");
}

TEST(SourceExcerptTest, ShowsEnclosingPythonBlocks) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("train.py",
                                     "def step():\n"
                                     "\tfor batch in data:\n"
                                     "\t\tx = 1\n"
                                     "\t\tif rank == 0:\n"
                                     "\t\t\tsave()  # here\n");
  EXPECT_EQ(Shape(ReadSourceExcerpt(file, {MarkerLine(file, "# here")}, kNoContext)),
            "         for batch in data:\n"
            "--\n"
            "                 if rank == 0:\n"
            "*                        save()  # here\n");
}

TEST(SourceExcerptTest, ReplacesControlCharactersAndTruncatesLongLines) {
  const TemporaryDirectory dir;
  const std::string file = dir.Write("evil.c",
                                     "a\x1b[2Jb\xff"
                                     "c\xC2\x9B"
                                     "d\xE2\x80\xAE"
                                     "e \xC3\xA9\r\n" +
                                         std::string(1000, 'x'));
  const SourceExcerpt excerpt = ReadSourceExcerpt(file, {1, 2}, {});
  ASSERT_EQ(excerpt.lines.size(), 2U);
  EXPECT_EQ(excerpt.lines[0].text, "a\uFFFD[2Jb\uFFFDc\uFFFDd\uFFFDe \u00E9");
  EXPECT_LE(excerpt.lines[1].text.size(), ExcerptOptions{}.max_line_bytes);
  EXPECT_TRUE(excerpt.lines[1].text.ends_with("\u2026"));
}

TEST(SourceExcerptTest, ReportsPythonCodeThatIsNotInAFile) {
  const TemporaryDirectory dir;
  const std::string zip = dir.Write("app.zip", "PK");
  for (const std::string& file :
       {std::string("<ipython-input-3-abcdef>"), std::string("<string>"), zip + "/pkg/mod.py"}) {
    const SourceExcerpt excerpt = ReadSourceExcerpt(file, {1});
    EXPECT_THAT(excerpt.lines, IsEmpty()) << file;
    EXPECT_THAT(excerpt.error, HasSubstr("the source ")) << file;
  }
}

TEST(SourceExcerptTest, ReportsWhyThereIsNoExcerpt) {
  const TemporaryDirectory dir;
  const auto error = [](const std::string& file, int line) {
    const SourceExcerpt excerpt = ReadSourceExcerpt(file, {line}, {.max_file_bytes = 100});
    EXPECT_THAT(excerpt.lines, IsEmpty());
    return excerpt.error;
  };
  ASSERT_EQ(mkfifo(dir.Path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(error(dir.Path("fifo"), 1), HasSubstr("FIFO"));
  EXPECT_THAT(error("/dev/zero", 1), HasSubstr("device"));
  EXPECT_THAT(error(dir.Path("gone"), 1), HasSubstr("not on this machine"));
  EXPECT_THAT(error(dir.Write("big", std::string(101, 'x')), 1), HasSubstr("too large"));
  EXPECT_THAT(error(dir.Write("binary", std::string("a\0b", 3)), 1), HasSubstr("not text"));
  EXPECT_THAT(error(dir.Write("short", "a\n"), 2), HasSubstr("fewer lines"));
  EXPECT_THAT(error(dir.Write("none", "a\n"), -1), HasSubstr("fewer lines"));
}

}  // namespace
}  // namespace rollcall
