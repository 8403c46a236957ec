// SPDX-License-Identifier: Apache-2.0
// A bundle of what agents sent gives the verdict of the nodes' directories.
#include "collector/collect/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "collector/bundle/reader.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/journal.h"
#include "collector/import/load_inputs.h"
#include "collector/import/ring_image.h"
#include "collector/report/text_report.h"
#include "tests/support/fake_machine.h"
#include "tests/support/job_evidence.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::collect {
namespace {

using ring_job::Fault;
using ring_job::Job;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// 32 ranks on four hosts; one rank skips a collective. All are alive and do not move. Each of two
// agents reports two hosts.
class EvidenceTest : public ::testing::Test {
 protected:
  EvidenceTest() {
    elsewhere_.host = "laptop";
    WriteRings(Job({32, 40, Fault::kSkipped}), Path("job"));
    trace_ = LoadInputs({Path("job")}, {}, elsewhere_).trace;
    ring_job::NamePlaces(&trace_);
    for (Code& code : trace_.codes) {
      for (SourceFrame& frame : code.frames) frame.detail = FrameDetail::kSourceLine;
    }
    StandStill(&trace_, elsewhere_.NowNs());
    evidence_ = EvidenceOf(trace_, 2);
  }

  std::string Path(const std::string& name) const { return root_.Path(name); }
  Collected Write() { return WriteEvidence(evidence_, Path("b"), {.rollcall_version = "test"}); }
  Trace Read() { return LoadInputs({Path("b")}, {}, elsewhere_).trace; }
  static std::string Verdict(Trace trace) {
    SymbolizeTrace(&trace);
    return std::regex_replace(RenderText(trace, Diagnose(trace, {})),
                              std::regex(" · no progress for .*"), "");
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    std::ifstream file(Path("b"), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    bundle::ReadBundle(
        source, "b", [&](bundle::Member member) { names.push_back(member.name); },
        [](const Problem& problem) { ADD_FAILURE() << problem.message; });
    return names;
  }

  TemporaryDirectory root_;
  FakeMachine elsewhere_;
  Trace trace_;
  Evidence evidence_;
};

TEST_F(EvidenceTest, GivesTheObservedVerdictOnAnotherMachine) {
  const Collected collected = Write();
  ASSERT_TRUE(collected.written) << collected.error;
  EXPECT_EQ(collected.rings, 32u);
  EXPECT_THAT(collected.problems, IsEmpty());
  EXPECT_THAT(Verdict(trace_), HasSubstr("hung, proven"));
  EXPECT_EQ(Verdict(Read()), Verdict(trace_));
}

// The job was ended after the verdict: an end after the snapshot is not in the rings.
TEST_F(EvidenceTest, RankThatWasAliveAtTheSnapshotStaysAlive) {
  const Process& killed = trace_.processes[3];
  const Process& ended = trace_.processes[20];
  const auto end_of = [](const Process& process, uint64_t id) {
    return FormatJournalLine(
        journal::ProcessEnded{{id, process.host, process.pid, process.rank},
                              {.how = ProcessEnd::How::kSignaled, .status = 9, .at_ns = 5}});
  };
  MemorySource source(evidence_.rings[3].image);
  evidence_.nodes[0].journal = end_of(killed, RingId(ReadRing(source, "").header));
  // A parent process knows only the pid. The last line has no line break.
  evidence_.nodes[1].journal = end_of(ended, 0);
  evidence_.nodes[1].journal.pop_back();
  ASSERT_TRUE(Write().written);
  EXPECT_EQ(Verdict(Read()), Verdict(trace_));

  // A rank that had ended before the snapshot has ended.
  evidence_.trace.processes[3].end = {.how = ProcessEnd::How::kSignaled, .status = 9};
  ASSERT_TRUE(Write().written);
  const Trace trace = Read();
  EXPECT_EQ(std::count_if(trace.processes.begin(), trace.processes.end(),
                          [](const Process& process) {
                            return process.end.how == ProcessEnd::How::kSignaled;
                          }),
            1);
}

TEST_F(EvidenceTest, NamesMissingNodeAndKeepsTheOther) {
  std::erase_if(evidence_.rings, [](const RingEvidence& ring) { return ring.node == 1; });
  evidence_.nodes[1].absent = "its agent was not connected";
  const Collected collected = Write();
  ASSERT_TRUE(collected.written) << collected.error;
  EXPECT_EQ(collected.rings, 16u);
  ASSERT_THAT(collected.problems, SizeIs(1));
  EXPECT_EQ(collected.problems[0].source, "host1");
  const Trace trace = Read();
  EXPECT_THAT(trace.processes, SizeIs(16));
  ASSERT_THAT(trace.problems, Not(IsEmpty()));
  EXPECT_EQ(trace.problems[0].source, "host1");
  EXPECT_EQ(trace.problems[0].code, ProblemCode::kMissingNode);
  EXPECT_EQ(trace.problems[0].message,
            "traces of this node are missing: its agent was not connected; they are in /run there");
}

TEST_F(EvidenceTest, LeavesOutImageThatIsNotARing) {
  // If it were read as a journal, it would report the end of a process.
  const std::string text = FormatJournalLine(journal::ProcessEnded{
      {0, "node0", trace_.processes[0].pid, 0}, {.how = ProcessEnd::How::kExited}});
  evidence_.rings[0].image.assign(text.begin(), text.end());
  const Collected collected = Write();
  ASSERT_TRUE(collected.written);
  EXPECT_EQ(collected.rings, 31u);
  EXPECT_THAT(Codes(collected.problems), ElementsAre(ProblemCode::kForeign));
  EXPECT_THAT(Read().processes, SizeIs(31));
}

TEST_F(EvidenceTest, SanitizesNamesFromTheNetwork) {
  evidence_.rings.resize(2);
  evidence_.rings[0].name = "../../../etc/passwd";
  evidence_.rings[1].name = "../../../etc/passwd";
  evidence_.nodes[0].environment = "{}\n";
  ASSERT_TRUE(Write().written);
  EXPECT_THAT(Names(), ElementsAre("observed.jsonl", "0/environment.json",
                                   "0/rings/_/_/_/etc/passwd", "0/rings/_/_/_/etc/2_passwd"));
}

TEST_F(EvidenceTest, WritesNoBundleWithoutARing) {
  evidence_.rings.clear();
  const Collected collected = Write();
  EXPECT_FALSE(collected.written);
  EXPECT_EQ(collected.error, "no rank's trace came");
  EXPECT_FALSE(std::filesystem::exists(Path("b")));
  EXPECT_FALSE(std::filesystem::exists(Path("b.partial")));
  EXPECT_THAT(WriteEvidence(evidence_, Path("no/such/place"), {}).error, HasSubstr("No such file"));
}

TEST(IsEnvironment, AcceptsOnlyObjectsOfBoundedSize) {
  EXPECT_TRUE(IsEnvironment(DescribeEnvironment({{"LANG", "C"}}, "rank 1")));
  EXPECT_FALSE(IsEnvironment(""));
  EXPECT_FALSE(IsEnvironment("LANG=C"));
  EXPECT_FALSE(IsEnvironment("[1]"));
  EXPECT_FALSE(IsEnvironment(R"({"a":")" + std::string(kMaxEnvironmentBytes, 'x') + R"("})"));
}

}  // namespace
}  // namespace rollcall::collect
