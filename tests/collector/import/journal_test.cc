// SPDX-License-Identifier: Apache-2.0
#include "collector/import/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/import/ring_reader.h"
#include "collector/import/trace_builder.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/temporary_directory.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Journal ReadJournalText(const std::string& text) {
  MemorySource source({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return ReadJournal(source, "journal.jsonl");
}

journal::ProcessName Name(int32_t rank) {
  return {RingId(RingFileBuilder(rank, 2).header), "node1", 100 + static_cast<uint32_t>(rank),
          rank};
}

SourceFrame Frame() {
  SourceFrame frame;
  frame.function = "exchange_halo";
  frame.file = "/src/solver.c";
  frame.line = 88;
  frame.module = "/bin/app";
  frame.vaddr = 0xffff'ffff'ffff'fff0;
  frame.inlined = true;
  frame.detail = FrameDetail::kSourceLine;
  frame.symbol_offset = 3;
  frame.note = "stripped";
  return frame;
}

SourceFrame JournaledPythonFrame() {
  SourceFrame frame;
  frame.function = "Model.step";
  frame.file = "train.py";
  frame.line = 23;
  frame.language = Language::kPython;
  frame.detail = FrameDetail::kSourceLine;
  return frame;
}

ProcessEnd Ended(ProcessEnd::How how, int status, int64_t at_ns) {
  ProcessEnd end;
  end.how = how;
  end.status = status;
  end.at_ns = at_ns;
  return end;
}

std::vector<JournalEvent> OneOfEach() {
  ProcessEnd end = Ended(ProcessEnd::How::kSignaled, 9, 1'700'000'000'000'000'003);
  end.oom_killed = end.by_launcher = end.by_rollcall = true;
  end.order = 2;
  LiveStack stack;
  stack.tid = 101;
  stack.thread_name = "worker";
  stack.frames = {Frame(), Frame(), JournaledPythonFrame()};
  stack.state = "sleeping in read";
  stack.cpu_ns_per_s = 12;
  stack.unreadable = "not permitted";
  return {
      journal::Run{"0.1.0", {"mpirun", "-n", "4", "a \"b\"\n"}, "node1", 1},
      journal::ProcessSeen{Name(0), "node1-100-ab.ring", 2},
      journal::ProcessEnded{Name(1), end},
      journal::Quiet{Name(0), 0xffff'ffff'ffff'ffff, 4},
      journal::StackSeen{Name(1), stack, 5},
      journal::Symbols{"/bin/app", "abab", 0x1234, {Frame()}},
      journal::Verdict{Name(0), 0xffff'ffff'ffff'fffe, 6},
      journal::JobEnd{-3, true, 7},
      journal::StopRequest{9},
      journal::Absent{"node2", "/dev/shm/run", "its agent was not connected"},
      journal::Source{
          {"/x/train.c",
           {{.kind = SourceBlock::Kind::kLoop, .first = 3, .last = 20},
            {.kind = SourceBlock::Kind::kArm,
             .first = 5,
             .last = 9,
             .branch = 2,
             .subject = "rank",
             .value = "0",
             .equal = false}},
           {{.kind = SourceFlow::Kind::kTry, .first = 2, .last = 4, .group = 1},
            {.kind = SourceFlow::Kind::kThrow, .first = 3, .last = 3, .condition = "rank == 1"}}}},
      journal::Clock{"node1", {.offset_ns = -10, .error_ns = 5}, 8},
      journal::OutsideWaitSeen{Name(0), 7,
                               OutsideWait{.tid = 101, .what = OutsideWait::For::kOutside}, 10},
      journal::VariablesSeen{Name(0),
                             7,
                             {{JournaledPythonFrame(),
                               {{"step", Variable::Kind::kInteger, 0xffff'ffff'ffff'ffff},
                                {"loss", Variable::Kind::kFloat, 0x3ff8'0000'0000'0000},
                                {"done", Variable::Kind::kBool, 1},
                                {"best", Variable::Kind::kNone, 0},
                                {"names", Variable::Kind::kLength, 3}}}},
                             11}};
}

TEST(Journal, ReadsBackEveryEvent) {
  std::string text;
  for (const JournalEvent& event : OneOfEach()) text += FormatJournalLine(event);
  const Journal journal = ReadJournalText(text);
  EXPECT_THAT(journal.problems, IsEmpty());
  ASSERT_THAT(journal.events, SizeIs(std::variant_size_v<JournalEvent>));
  std::string again;
  for (const JournalEvent& event : journal.events) again += FormatJournalLine(event);
  // An argument contains a line break. This is a control character, which reading replaces.
  const size_t at = text.find("\\n");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 2, "\xef\xbf\xbd");
  EXPECT_EQ(again, text);
  const auto& quiet = std::get<journal::Quiet>(journal.events[3]);
  EXPECT_EQ(quiet.activity, 0xffff'ffff'ffff'ffffu);
  EXPECT_EQ(quiet.process.ring_id, Name(0).ring_id);
  EXPECT_EQ(std::get<journal::StackSeen>(journal.events[4]).stack.frames[1], Frame());
  EXPECT_EQ(std::get<journal::StackSeen>(journal.events[4]).stack.frames[2],
            JournaledPythonFrame());
}

TEST(Journal, IgnoresATruncatedLastLine) {
  const std::string first = FormatJournalLine(journal::JobEnd{1, false, 1});
  const std::string second = FormatJournalLine(journal::JobEnd{2, false, 2});
  for (size_t size = 0; size < second.size(); ++size) {
    const Journal journal = ReadJournalText(first + second.substr(0, size));
    EXPECT_THAT(journal.problems, IsEmpty()) << size;
    // If only its line break is missing, the line is complete.
    EXPECT_EQ(journal.events.size(), size + 1 == second.size() ? 2u : 1u) << size;
  }
}

TEST(Journal, ReadsTheLineAfterATruncatedOne) {
  const std::string line = FormatJournalLine(journal::JobEnd{1, false, 1});
  const Journal journal = ReadJournalText(line.substr(0, 20) + line + line);
  EXPECT_THAT(journal.events, SizeIs(2));
  ASSERT_THAT(journal.problems, SizeIs(1));
  EXPECT_EQ(journal.problems[0].source, "journal.jsonl");
  EXPECT_EQ(journal.problems[0].offset, 0);
}

TEST(Journal, ReadsKnownEventsAndSkipsOthers) {
  const std::string good = FormatJournalLine(journal::JobEnd{1, false, 1});
  const Journal journal = ReadJournalText("\n  \n" + good + "{\"v\":1,\"event\":\"coffee\"}\n" +
                                          "{\"v\":2,\"event\":\"job-end\"}\n" + "garbage\n" + good +
                                          "[1,2]\n{}\n\"x\"\n" + std::string(300, '[') + "\n" +
                                          std::string("\0\xff\n", 3) + good);
  EXPECT_THAT(journal.events, SizeIs(3));
  EXPECT_EQ(journal.unknown, 2u);
  EXPECT_THAT(journal.problems, SizeIs(3)) << "the first few say enough";
}

TEST(Journal, FieldsOfTheWrongTypeCountAsMissing) {
  const Journal journal = ReadJournalText(
      R"({"v":1,"event":"process-end","id":7,"pid":-1,"rank":99999999999,"how":["x"],"status":"1",)"
      R"("oom_killed":1,"at_ns":1e30,"order":null})"
      "\n"
      R"({"v":1,"event":"stack","frames":{"a":1},"tid":4294967296})"
      "\n"
      R"({"v":1,"event":"symbols","vaddr":"0xzz","frames":[1,{"line":"x"}]})"
      "\n"
      R"({"v":1,"event":"outside-wait","tid":5,"for":"moon"})"
      "\n");
  ASSERT_THAT(journal.events, SizeIs(4));
  const auto& ended = std::get<journal::ProcessEnded>(journal.events[0]);
  EXPECT_EQ(ended.process.ring_id, 0u);
  EXPECT_EQ(ended.process.pid, 0u);
  EXPECT_EQ(ended.process.rank, -1);
  EXPECT_EQ(ended.end.how, ProcessEnd::How::kUnknown);
  EXPECT_EQ(ended.end.at_ns, kNoTime);
  EXPECT_FALSE(ended.end.oom_killed);
  EXPECT_EQ(std::get<journal::StackSeen>(journal.events[1]).stack.tid, 0u);
  EXPECT_THAT(std::get<journal::Symbols>(journal.events[2]).frames, SizeIs(1));
  EXPECT_FALSE(std::get<journal::OutsideWaitSeen>(journal.events[3]).wait.has_value());
}

TEST(Journal, SkipsAHugeLine) {
  const std::string good = FormatJournalLine(journal::JobEnd{1, false, 1});
  const Journal journal = ReadJournalText(good + std::string(3 << 20, 'x') + "\n" + good);
  EXPECT_THAT(journal.events, SizeIs(2));
  EXPECT_THAT(Codes(journal.problems), ElementsAre(ProblemCode::kOverLimit));
}

TEST(Journal, EscapesControlCharactersForTheTerminal) {
  const std::string line = FormatJournalLine(journal::Symbols{"/a\x1b[2J\xff", "ab", 1, {}});
  const auto event = ParseJournalLine(line);
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<journal::Symbols>(*event).module_path.find('\x1b'), std::string::npos);
}

TEST(Journal, WritersDoNotMixTheirLines) {
  const TemporaryDirectory directory;
  const std::string file = directory.Path("journal.jsonl");
  constexpr int kWriters = 4;
  constexpr int kLines = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) {
    threads.emplace_back([&, i] {
      auto writer = JournalWriter::Open(file);  // each writer has its own descriptor
      ASSERT_TRUE(writer) << writer.error();
      const std::vector<std::string> command(static_cast<size_t>(1 + 50 * i), "argument");
      for (int k = 0; k < kLines; ++k)
        EXPECT_TRUE(writer->Append(journal::Run{"1", command, "h", k}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int fd = open(file.c_str(), O_RDONLY);
  FileSource source(fd);
  const Journal journal = ReadJournal(source, "");
  close(fd);
  EXPECT_THAT(journal.problems, IsEmpty());
  EXPECT_THAT(journal.events, SizeIs(kWriters * kLines));
}

TEST(Journal, OpenReportsWhyItFailed) {
  EXPECT_EQ(JournalWriter::Open("/nonexistent/journal.jsonl").error(),
            "/nonexistent/journal.jsonl: No such file or directory");
}

// --- applied to a trace --------------------------------------------------------------------------

class ApplyTest : public ::testing::Test {
 protected:
  static constexpr int32_t kOutside = 2;  // the rank that is inside no call

  ApplyTest() {
    for (int32_t rank = 0; rank < 3; ++rank) {
      RingFileBuilder file = MakeFullRing(rank, 3);
      if (rank == kOutside) file.threads[0].depth = 0;
      const auto bytes = file.Build();
      MemorySource source(bytes);
      const RingSnapshot ring = ReadRing(source, "x.ring");
      activity_ = ring.activity;
      builder_.Add(ring);
    }
  }

  Trace Apply(std::vector<JournalEvent> events) {
    Journal journal;
    journal.events = std::move(events);
    const Journal* const all[] = {&journal};
    ApplyJournals(all, &builder_);
    return builder_.Finish();
  }

  RingTraceBuilder builder_;
  uint64_t activity_ = 0;
};

TEST_F(ApplyTest, QuietHoldsForThisStateOnly) {
  const Trace trace =
      Apply({journal::Quiet{Name(0), activity_ - 1, 10}, journal::Quiet{Name(0), activity_, 20},
             journal::Quiet{Name(1), activity_ - 1, 30}});
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_EQ(trace.processes[0].taken_at_ns, 20);
  EXPECT_FALSE(trace.processes[1].quiet) << "it moved after it had been seen quiet";
}

// The ring is a copy that was made before.
TEST_F(ApplyTest, WhatMovedAfterItsRingIsNotQuiet) {
  const Trace trace =
      Apply({journal::Quiet{Name(0), activity_, 10}, journal::Quiet{Name(0), activity_ + 1, 20}});
  EXPECT_FALSE(trace.processes[0].quiet);
}

TEST_F(ApplyTest, VerdictHoldsForRanksThatHaveNotMovedSince) {
  const Trace trace = Apply(
      {journal::Verdict{Name(0), activity_ - 1, 10}, journal::Verdict{Name(0), activity_, 20},
       journal::Verdict{Name(0), activity_, 30}, journal::Verdict{Name(1), activity_ - 1, 20}});
  EXPECT_EQ(trace.processes[0].judged_ns, 20);
  EXPECT_EQ(trace.processes[1].judged_ns, kNoTime);
}

TEST_F(ApplyTest, MostSpecificLineDecidesHowAProcessEnded) {
  ProcessEnd by_launcher = Ended(ProcessEnd::How::kVanished, 0, 200);
  by_launcher.by_launcher = true;
  const journal::ProcessName by_pid{0, "node1", 101, -1};
  const Trace trace =
      Apply({journal::ProcessEnded{by_pid, Ended(ProcessEnd::How::kExited, 3, 100)},
             journal::ProcessEnded{Name(1), Ended(ProcessEnd::How::kVanished, 0, 150)},
             journal::ProcessEnded{Name(0), by_launcher},
             journal::ProcessEnded{{0, "node2", 101, -1}, Ended(ProcessEnd::How::kExited, 9, 1)},
             journal::ProcessEnded{{99, "node1", 100, -1}, Ended(ProcessEnd::How::kExited, 8, 1)}});
  const ProcessEnd& first = trace.processes[1].end;
  EXPECT_EQ(first.how, ProcessEnd::How::kExited);
  EXPECT_EQ(first.status, 3);
  EXPECT_EQ(first.at_ns, 100);
  EXPECT_EQ(first.order, 0u);
  const ProcessEnd& second = trace.processes[0].end;
  EXPECT_EQ(second.how, ProcessEnd::How::kVanished);
  EXPECT_TRUE(second.by_launcher);
  EXPECT_EQ(second.order, 1u);
  EXPECT_EQ(trace.processes[0].taken_at_ns, 200);
}

TEST_F(ApplyTest, SignalsAboutAStopRequestAreTheLaunchers) {
  constexpr int64_t kStop = 10 * kEndOrderBlurNs;
  const Trace trace =
      Apply({journal::StopRequest{kStop + 5}, journal::StopRequest{kStop},
             journal::ProcessEnded{Name(0),
                                   Ended(ProcessEnd::How::kSignaled, 15, kStop - kEndOrderBlurNs)},
             journal::ProcessEnded{Name(1), Ended(ProcessEnd::How::kSignaled, 9, kStop)}});
  EXPECT_TRUE(trace.processes[0].end.by_launcher);
  EXPECT_TRUE(trace.processes[1].end.by_launcher);
}

// MPI ends ranks inside a call that lose their peers, or crashes in them.
TEST_F(ApplyTest, EndsInsideCallsAboutAStopRequestAreTheLaunchers) {
  constexpr int64_t kStop = 10 * kEndOrderBlurNs;
  const Trace trace =
      Apply({journal::StopRequest{kStop},
             journal::ProcessEnded{Name(0), Ended(ProcessEnd::How::kExited, 14, kStop + 1)},
             journal::ProcessEnded{
                 Name(1), Ended(ProcessEnd::How::kSignaled, 11, kStop - kEndOrderBlurNs)}});
  EXPECT_TRUE(trace.processes[0].end.by_launcher);
  EXPECT_TRUE(trace.processes[1].end.by_launcher);
}

TEST_F(ApplyTest, EndsLongBeforeAStopRequestAndOutsideOfCallsAreTheirOwn) {
  constexpr int64_t kStop = 10 * kEndOrderBlurNs;
  const Trace trace = Apply(
      {journal::StopRequest{kStop},
       journal::ProcessEnded{Name(0),
                             Ended(ProcessEnd::How::kSignaled, 11, kStop - kEndOrderBlurNs - 1)},
       journal::ProcessEnded{Name(kOutside), Ended(ProcessEnd::How::kSignaled, 11, kStop + 1)}});
  EXPECT_FALSE(trace.processes[0].end.by_launcher);
  EXPECT_FALSE(trace.processes[kOutside].end.by_launcher);
}

TEST_F(ApplyTest, KillOutsideOfCallsBeforeAStopRequestIsItsOwn) {
  constexpr int64_t kStop = 10 * kEndOrderBlurNs;
  const Trace trace = Apply(
      {journal::StopRequest{kStop},
       journal::ProcessEnded{Name(kOutside), Ended(ProcessEnd::How::kSignaled, 9, kStop - 1)}});
  EXPECT_FALSE(trace.processes[kOutside].end.by_launcher);
}

TEST_F(ApplyTest, LastSampleOfAThreadIsUsed) {
  LiveStack early;
  early.tid = 5;
  early.state = "running";
  LiveStack late = early;
  late.state = "sleeping";
  LiveStack other = early;
  other.tid = 6;
  const Trace trace =
      Apply({journal::StackSeen{Name(0), early, 1}, journal::StackSeen{Name(0), other, 1},
             journal::StackSeen{Name(0), late, 2}});
  ASSERT_THAT(trace.processes[0].live_stacks, SizeIs(2));
  EXPECT_EQ(trace.processes[0].live_stacks[0].state, "sleeping");
}

TEST_F(ApplyTest, OutsideWaitHoldsForThisStateOnly) {
  const OutsideWait wait{.tid = 102, .what = OutsideWait::For::kClient};
  const Trace trace = Apply({journal::OutsideWaitSeen{Name(0), activity_, wait, 10},
                             journal::OutsideWaitSeen{Name(0), activity_ - 1, {}, 20},
                             journal::OutsideWaitSeen{Name(1), activity_ - 1, wait, 30}});
  EXPECT_EQ(trace.processes[0].outside_wait, wait);
  EXPECT_FALSE(trace.processes[1].outside_wait.has_value()) << "it has made a call since";
}

TEST_F(ApplyTest, VariablesHoldForThisStateOnly) {
  const std::vector<VariablesOfFrame> frames = {
      {JournaledPythonFrame(), {{"step", Variable::Kind::kInteger, 3}}}};
  const Trace trace = Apply({journal::VariablesSeen{Name(0), activity_, frames, 10},
                             journal::VariablesSeen{Name(0), activity_ - 1, {}, 20},
                             journal::VariablesSeen{Name(1), activity_ - 1, frames, 30}});
  ASSERT_THAT(trace.processes[0].variables, SizeIs(1));
  EXPECT_EQ(trace.processes[0].variables[0].variables, frames[0].variables);
  EXPECT_THAT(trace.processes[1].variables, IsEmpty()) << "it has made a call since";
}

TEST_F(ApplyTest, StacksOfAnEarlierStateAreNotUsed) {
  LiveStack stack;
  stack.tid = 5;
  const Trace trace = Apply({journal::StackSeen{Name(0), stack, 1},
                             journal::OutsideWaitSeen{Name(0), activity_ - 1, {}, 1},
                             journal::StackSeen{Name(1), stack, 1},
                             journal::OutsideWaitSeen{Name(1), activity_, {}, 1},
                             journal::StackSeen{Name(2), stack, 1},
                             journal::OutsideWaitSeen{Name(2), activity_ + 1, {}, 1}});
  EXPECT_THAT(trace.processes[0].live_stacks, IsEmpty());
  EXPECT_THAT(trace.processes[1].live_stacks, SizeIs(1));
  EXPECT_THAT(trace.processes[2].live_stacks, SizeIs(1)) << "its ring is an older copy";
}

// A server that works on a request has not stood still for as long as it waited for it.
TEST_F(ApplyTest, EndOfAnOutsideWaitIsAMovement) {
  constexpr int64_t kLate = int64_t{1} << 61;
  const OutsideWait wait{.tid = 102, .what = OutsideWait::For::kClient};
  const Trace trace = Apply({journal::OutsideWaitSeen{Name(0), activity_, {}, kLate},
                             journal::OutsideWaitSeen{Name(0), activity_, wait, kLate + 10},
                             journal::OutsideWaitSeen{Name(0), activity_, {}, kLate + 20},
                             journal::OutsideWaitSeen{Name(0), activity_, {}, kLate + 30},
                             journal::OutsideWaitSeen{Name(1), activity_, {}, kLate}});
  EXPECT_FALSE(trace.processes[0].outside_wait.has_value());
  EXPECT_EQ(trace.processes[0].idle_since_ns, kLate + 20);
  EXPECT_LT(trace.processes[1].idle_since_ns, kLate) << "it was never seen to wait";
}

TEST_F(ApplyTest, CodesGetTheFramesOfTheRun) {
  SourceFrame nothing;
  const Trace trace = Apply({journal::Symbols{"/elsewhere", "abababab", 0x1234, {Frame()}},
                             journal::Symbols{"/bin/app", "abababab", 0x2345, {nothing}},
                             journal::Symbols{"/bin/app", "other", 0x2345, {Frame()}}});
  for (const Code& code : trace.codes) {
    if (code.vaddr == 0x1234) {
      EXPECT_THAT(code.frames, ElementsAre(Frame()));
    } else {
      EXPECT_THAT(code.frames, IsEmpty()) << "module and address are known anyway";
    }
  }
}

}  // namespace
}  // namespace rollcall
