// SPDX-License-Identifier: Apache-2.0
// Logs beside the records of a job that is watched: what counts, and what it may change.
#include "collector/import/logs/job_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/verdict_case.h"

namespace rollcall::logs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Rank 1 left in failure while the others wait for it.
constexpr const char* kLeft =
    "ranks 3\n0,2: waits in Allreduce 1xMPI_INT sum @ main:20\n1: exits 1\n";

std::string Traceback(const std::string& prefix, const std::string& message = "bad shard") {
  return prefix + "Traceback (most recent call last):\n" + prefix +
         "  File \"/app/train.py\", line 9, in <module>\n" + prefix + "    load()\n" + prefix +
         "  File \"/app/train.py\", line 6, in load\n" + prefix + "    raise ValueError(x)\n" +
         prefix + "ValueError: " + message + "\n";
}

class JobLogsTest : public testing::Test {
 protected:
  static Report Judge(JobLogs* logs, const std::string& text) {
    Trace trace = verdict_case::Parse(text);
    logs->AddEnds(&trace, /*job_ended=*/true);
    DiagnoseOptions options;
    options.job_ended = true;
    return Diagnose(trace, options);
  }
  // The first finding: its title.
  static std::string Title(JobLogs* logs, const std::string& text = kLeft) {
    const Report report = Judge(logs, text);
    return report.findings.empty() ? "nothing" : report.findings.front().title;
  }
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Path(name), std::ios::app) << text;
  }

  TemporaryDirectory directory_;
};

TEST_F(JobLogsTest, NameTheLineOfAnException) {
  JobLogs logs({directory_.Path("out")});
  directory_.Write("out", "starts\n" + Traceback("[rank1]: "));
  const Report report = Judge(&logs, kLeft);
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings.front();
  EXPECT_EQ(finding.kind, VerdictKind::kUncaughtException);
  EXPECT_EQ(finding.certainty, Certainty::kProven) << "that the others wait";
  EXPECT_EQ(finding.kind_certainty, Certainty::kLikely) << "a log proves no cause";
  EXPECT_EQ(verdict_case::Lines(finding, /*culprit=*/true), "load:6");
  ASSERT_EQ(finding.quotes.size(), 1u);
  EXPECT_EQ(finding.quotes[0].line, 7u);
  EXPECT_EQ(finding.quotes[0].text, "[rank1]: ValueError: bad shard");
}

TEST_F(JobLogsTest, OnlyWhatIsAppendedCounts) {
  directory_.Write("out", Traceback("[rank1]: ", "of an earlier run"));
  JobLogs logs({directory_.Path("out")});
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
  Append("out", "[rank0]: step 1\n");
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
  Append("out", Traceback("[rank1]: ", "now"));
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 raised ValueError: now at train.py:6"));
  EXPECT_EQ(Judge(&logs, kLeft).findings[0].quotes[0].line, 13u) << "of the whole file";
}

TEST_F(JobLogsTest, FileThatIsWrittenAgainCountsAsAWhole) {
  const std::string path = directory_.Write("out", Traceback("[rank1]: ", "first"));
  JobLogs logs({path});
  // Longer than before, of the same size, shorter, and another file.
  directory_.Write("out", Traceback("[rank1]: ", "second") + "[rank0]: step 1\n");
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError: second"));
  directory_.Write("out", Traceback("[rank1]: ", "first"));
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError: first"));
  directory_.Write("out", Traceback("[rank1]: ", "3rd"));
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError: 3rd"));
  directory_.Write("new", Traceback("[rank1]: ", "fourth"));
  fs::rename(directory_.Path("new"), path);
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError: fourth"));
}

TEST_F(JobLogsTest, ReadFilesOfADirectoryWhoseNamesHaveTheRank) {
  directory_.Write("logs/earlier", Traceback("[rank1]: ", "earlier"));
  JobLogs logs({directory_.Path("logs")});
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
  for (const char* rank : {"0", "1", "2"}) {
    directory_.Write(std::string("logs/attempt_0/") + rank + "/stderr.log",
                     rank[0] == '1' ? Traceback("", "in a file") : "");
  }
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 raised ValueError: in a file at train.py:6"));
}

// An exception that was handled ends nothing.
TEST_F(JobLogsTest, RankThatDidNotLeaveInFailureIsNotAccused) {
  JobLogs logs({directory_.Path("out")});
  directory_.Write("out", Traceback("[rank0]: ") + Traceback("[rank1]: "));
  const std::string waits = "ranks 3\n0-2: waits in Allreduce 1xMPI_INT sum @ main:20\n";
  JobLogs none({});
  EXPECT_EQ(Title(&logs, waits), Title(&none, waits));
  EXPECT_EQ(Title(&logs, "ranks 2\n0-1: Finalize @ main:30\n0-1: exits 0\n"), "nothing");
  EXPECT_EQ(Title(&logs, "ranks 2\n0-1: Finalize @ main:30\n0-1: exits 1\n"), "nothing")
      << "a test runner that reports what it has caught";
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 raised"));
  const std::string aborts =
      "ranks 3\n0,2: waits in Allreduce 1xMPI_INT sum @ main:20\n1: is-killed 6\n";
  EXPECT_THAT(Title(&logs, aborts), StartsWith("rank 1 raised"));
  const std::string killed =
      "ranks 3\n0,2: waits in Allreduce 1xMPI_INT sum @ main:20\n1: is-killed 9 seen\n";
  EXPECT_EQ(Title(&logs, killed), Title(&none, killed));
  const std::string cleaned_up = "ranks 3\n2: is-killed 11\n0-1: exits 1 by launcher\n";
  EXPECT_EQ(Title(&logs, cleaned_up), Title(&none, cleaned_up));
}

TEST_F(JobLogsTest, OneTracebackWithoutARankIsThatOfTheOneThatLeft) {
  JobLogs logs({directory_.Path("out")});
  directory_.Write("out", Traceback(""));
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 raised ValueError: bad shard"));
  EXPECT_THAT(Title(&logs, "ranks 3\n0: waits in Barrier @ main:20\n1-2: exits 1\n"),
              HasSubstr("exited with 1"));
  Append("out", Traceback("", "another"));
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
}

TEST_F(JobLogsTest, LauncherSaysHowARankEndedThatVanished) {
  JobLogs logs({directory_.Path("out")});
  directory_.Write("out", "srun: error: node0: task 1: Segmentation fault (core dumped)\n");
  const std::string waits = "ranks 3\n0,2: waits in Allreduce 1xMPI_INT sum @ main:20\n";
  EXPECT_THAT(Title(&logs, waits + "1: vanishes\n"), StartsWith("rank 1 was killed by SIGSEGV"));
  EXPECT_THAT(Title(&logs, waits + "1: exits 3\n"), StartsWith("rank 1 exited with 3"));
}

TEST_F(JobLogsTest, SaysWhichPathsCouldNotBeUsed) {
  ASSERT_EQ(mkfifo(directory_.Path("pipe").c_str(), 0600), 0);
  directory_.Write("empty", "");
  fs::create_directory(directory_.Path("logs"));
  JobLogs logs({directory_.Path("missing"), directory_.Path("pipe"), directory_.Path("empty"),
                directory_.Path("logs")});
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
  EXPECT_THAT(logs.Problems(),
              ElementsAre("--log " + directory_.Path("missing") + ": is not on this machine",

                          "--log " + directory_.Path("pipe") + ": is a FIFO"));
}

TEST_F(JobLogsTest, ReadsNoMoreThanTheNewestBytes) {
  JobLogs logs({directory_.Path("out")}, 1 << 20);
  directory_.Write("out", Traceback("[rank1]: "));
  EXPECT_THAT(logs.Problems(), IsEmpty());
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError"));
  Append("out", std::string(1 << 20, '\n'));
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
  EXPECT_THAT(logs.Problems(), ElementsAre("--log: only the newest 1 MiB were read"));
  Append("out", Traceback("[rank1]: ", "again"));
  EXPECT_THAT(Title(&logs), HasSubstr("ValueError: again"));
}

TEST_F(JobLogsTest, SurvivesWhatIsNoText) {
  JobLogs logs({directory_.path()});
  std::string bytes = Traceback("[rank1]: ");
  bytes.insert(3, 1, '\0');
  directory_.Write("binary", bytes);
  directory_.Write("broken.gz", "\x1f\x8b" + std::string(100, '\xff'));
  directory_.Write("invalid", "\xff\xfe\x80" + Traceback("[rank\xc3: "));
  fs::create_symlink("/dev/zero", directory_.Path("zero"));
  EXPECT_THAT(Title(&logs), StartsWith("rank 1 exited with 1"));
}

}  // namespace
}  // namespace rollcall::logs
