// SPDX-License-Identifier: Apache-2.0
#include "collector/import/load_inputs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/base/process_table.h"
#include "collector/bundle/writer.h"
#include "collector/import/input_format.h"
#include "collector/import/journal.h"
#include "collector/import/ring_reader.h"
#include "tests/support/fake_machine.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/trace_checks.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class LoadInputsTest : public ::testing::Test {
 protected:
  LoadInputsTest() { fs::create_directory(dir_ / "rings"); }

  void Write(const std::string& name, const std::vector<uint8_t>& bytes) {
    std::ofstream file(dir_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void WriteRing(int32_t rank, int32_t size) {
    Write("rings/r" + std::to_string(rank) + ".ring", MakeFullRing(rank, size).Build());
  }
  void WriteJournal(const std::vector<JournalEvent>& events) {
    std::ofstream file(dir_ / "journal.jsonl", std::ios::app);
    for (const JournalEvent& event : events) file << FormatJournalLine(event);
  }
  Trace Load(const std::vector<std::string>& inputs) {
    Trace trace = LoadInputs(inputs, {}, machine_).trace;
    EXPECT_EQ(FindInconsistency(trace), "");
    return trace;
  }
  Trace Load() { return Load({dir_.string()}); }
  static std::string Messages(const Trace& trace) {
    std::string text;
    for (const Problem& problem : trace.problems) {
      text += fs::path(problem.source).filename().string() + ": " + problem.message + "\n";
    }
    return text;
  }

  const TemporaryDirectory directory_;
  const fs::path dir_ = directory_.path();
  FakeMachine machine_;
};

TEST_F(LoadInputsTest, LoadsRingsAndJournal) {
  WriteRing(0, 2);
  WriteRing(1, 2);
  ProcessEnd end;
  end.how = ProcessEnd::How::kExited;
  end.status = 3;
  WriteJournal({journal::ProcessEnded{{0, "node1", 101, 1}, end}});
  const Trace trace = Load();
  EXPECT_EQ(Messages(trace), "");
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_EQ(trace.processes[0].end.how, ProcessEnd::How::kVanished);
  EXPECT_EQ(trace.processes[1].end.how, ProcessEnd::How::kExited);
  EXPECT_EQ(machine_.waits, 0) << "nobody lives, nothing to wait for";
}

// One directory with the run directories of two nodes. The clock of the second node is 10 s behind.
class ClocksTest : public LoadInputsTest {
 protected:
  static constexpr int64_t kEndNs = 1'700'000'000'000'000'000;
  static constexpr int64_t kMs = 1'000'000;

  journal::ProcessEnded Killed(const std::string& host, int32_t rank, int64_t at_ms) const {
    return {{0, host, static_cast<uint32_t>(100 + rank), rank},
            {.how = ProcessEnd::How::kSignaled, .status = 9, .at_ns = kEndNs + at_ms * kMs}};
  }
  void WriteNode(const std::string& node, const std::vector<int32_t>& ranks,
                 const std::vector<JournalEvent>& events) {
    fs::create_directories(dir_ / node / "rings");
    for (const int32_t rank : ranks) {
      RingFileBuilder ring = MakeFullRing(rank, 4);
      ring.header.pid = static_cast<uint32_t>(100 + rank);
      snprintf(ring.header.host, sizeof(ring.header.host), "%s", node.c_str());
      Write(node + "/rings/r" + std::to_string(rank) + ".ring", ring.Build());
    }
    std::ofstream file(dir_ / node / "journal.jsonl");
    for (const JournalEvent& event : events) file << FormatJournalLine(event);
  }
  // "rank@end/difference", in the order of the ends. The difference is how much earlier the rank's
  // calls are than those of the first rank. All times are in milliseconds.
  std::string Ends(const Trace& trace) const {
    std::map<uint32_t, std::string> ends;
    for (const Process& process : trace.processes) {
      const int64_t apart_ns =
          trace.processes[0].lifecycle.at(0).start_ns - process.lifecycle.at(0).start_ns;
      ends[process.end.order] = std::to_string(process.rank) + "@" +
                                std::to_string((process.end.at_ns - kEndNs) / kMs) + "/" +
                                std::to_string(apart_ns / kMs) + " ";
    }
    std::string text;
    for (const auto& [order, end] : ends) text += end;
    return text;
  }
};

TEST_F(ClocksTest, CorrectedByTheJournalsOfTheNodes) {
  WriteNode("nodea", {0, 1},
            {journal::Clock{"nodea", {.offset_ns = 7, .error_ns = 5}, 1}, Killed("nodea", 1, 0),
             Killed("nodea", 0, 20)});
  WriteNode("nodeb", {2, 3},
            {journal::Clock{"nodeb", {.offset_ns = 5, .error_ns = 5}, 1},
             Killed("nodeb", 2, -10'000 + 30), Killed("nodeb", 3, -10'000 + 10),
             journal::Clock{"nodeb", {.offset_ns = -10'000 * kMs, .error_ns = 5}, 1}});
  const Trace trace = Load();
  EXPECT_EQ(Messages(trace), "");
  EXPECT_EQ(Ends(trace), "1@0/0 3@10/-10000 0@19/0 2@30/-10000 ");
  EXPECT_EQ(trace.processes[3].clock, (NodeClock{.offset_ns = -10'000 * kMs, .error_ns = 5}));
}

TEST_F(ClocksTest, NotCorrectedByJournalsOfSeveralHostsOrDamagedOnes) {
  WriteNode("nodea", {0, 1},
            {journal::Clock{"nodea", {.offset_ns = 9 * kMs, .error_ns = 5}, 1},
             journal::Clock{"nodeb", {.offset_ns = 1, .error_ns = 5}, 1}, Killed("nodea", 1, 0),
             Killed("nodea", 0, 20)});
  WriteNode("nodeb", {2, 3},
            {journal::Clock{"nodeb", {.offset_ns = INT64_MIN, .error_ns = 5}, 1},
             journal::Clock{"nodeb", {.offset_ns = 9, .error_ns = -1}, 1}, Killed("nodeb", 2, 30),
             Killed("nodeb", 3, 10)});
  const Trace trace = Load();
  EXPECT_EQ(Ends(trace), "1@0/0 3@10/0 0@20/0 2@30/0 ");
  EXPECT_FALSE(trace.processes[0].clock.has_value());
}

TEST_F(LoadInputsTest, EndedProcessIsQuietOnlyIfTheJournalSaysSo) {
  WriteRing(0, 2);
  WriteRing(1, 2);
  EXPECT_FALSE(Load().processes[0].quiet);
  const auto bytes = MakeFullRing(0, 2).Build();
  MemorySource source(bytes);
  const RingSnapshot ring = ReadRing(source, "");
  WriteJournal({journal::Quiet{{RingId(ring.header), "node1", 100, 0}, ring.activity, 77}});
  const Trace trace = Load();
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_EQ(trace.processes[0].taken_at_ns, 77);
  EXPECT_FALSE(trace.processes[1].quiet);
}

TEST_F(LoadInputsTest, SamplesLivingProcessesTwice) {
  for (int32_t rank = 0; rank < 3; ++rank) WriteRing(rank, 3);
  machine_.processes = {{100, 5000}, {101, 5000}, {102, 6000}};  // pid 102 was reused
  machine_.meanwhile = [&] {
    RingFileBuilder moved = MakeFullRing(1, 3);
    moved.threads[0].calls_ended++;
    Write("rings/r1.ring", moved.Build());
  };
  const Trace trace = Load();
  EXPECT_EQ(machine_.waits, 1);
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_EQ(trace.processes[0].end.how, ProcessEnd::How::kAlive);
  EXPECT_EQ(trace.processes[0].taken_at_ns, machine_.NowNs());
  EXPECT_FALSE(trace.processes[1].quiet);
  EXPECT_FALSE(trace.processes[2].quiet);
  EXPECT_EQ(trace.processes[2].end.how, ProcessEnd::How::kVanished);
}

// Rings of a run directory that are no files, or older copies of such rings.
class RingsInMemoryTest : public LoadInputsTest {
 protected:
  RingsInMemoryTest() {
    machine_.processes = {{100, 5000}, {101, 5000}};
    WriteJournal({journal::ProcessSeen{{1, "node1", 100, 0}, "r0.ring", 1},
                  journal::ProcessSeen{{2, "node1", 101, 1}, "r1.ring", 1}});
  }
  // The bytes are in a file elsewhere, as long as they are not unmapped.
  void Hold(int32_t rank, const RingFileBuilder& ring) {
    const std::string name = "r" + std::to_string(rank) + ".ring";
    const auto bytes = ring.Build();
    const std::string path = elsewhere_.Write(name, std::string(bytes.begin(), bytes.end()));
    machine_.memory_rings.rings.push_back({.path = (dir_ / "rings" / name).string(),
                                           .pid = 100 + rank,
                                           .fd = UniqueFd(open(path.c_str(), O_RDONLY)),
                                           .error = {}});
  }
  void WriteCopy(int32_t rank) {
    Write("rings/r" + std::to_string(rank) + ".ring.copy", MakeFullRing(rank, 2).Build());
  }
  // That the process was still in the state of its copy.
  void WriteQuiet(int32_t rank) {
    const auto bytes = MakeFullRing(rank, 2).Build();
    MemorySource source(bytes);
    const RingSnapshot ring = ReadRing(source, "");
    WriteJournal({journal::Quiet{{RingId(ring.header), "node1", 0, rank}, ring.activity, 77}});
  }

  const TemporaryDirectory elsewhere_;
};

TEST_F(RingsInMemoryTest, AreReadFromTheProcesses) {
  Hold(0, MakeFullRing(0, 2));
  Hold(1, MakeFullRing(1, 2));
  machine_.memory_rings.rings.push_back(
      {.path = "/another/run/rings/x.ring", .pid = 7, .fd = {}, .error = "denied"});
  machine_.meanwhile = [&] {
    RingFileBuilder moved = MakeFullRing(1, 2);
    moved.threads[0].calls_ended++;
    const auto bytes = moved.Build();
    elsewhere_.Write("r1.ring", std::string(bytes.begin(), bytes.end()));
  };
  const Trace trace = Load();
  EXPECT_EQ(Messages(trace), "");
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_EQ(trace.processes[0].source, (dir_ / "rings/r0.ring").string());
  EXPECT_EQ(trace.processes[0].end.how, ProcessEnd::How::kAlive);
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_FALSE(trace.processes[1].quiet);
}

// Otherwise any user could add ranks to a directory that root reads.
TEST_F(RingsInMemoryTest, AreTakenFromTheOwnerOfTheDirectoryOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kOwner = 65534;
  ASSERT_EQ(chown(dir_.c_str(), kOwner, kOwner), 0);
  WriteRing(0, 2);
  for (const uid_t user : {geteuid(), kOwner}) {
    machine_.memory_rings = {};
    Hold(1, MakeFullRing(1, 2));
    machine_.memory_rings_user = user;
    EXPECT_THAT(Load().processes, SizeIs(user == kOwner ? 2 : 1));
  }
}

TEST_F(RingsInMemoryTest, ReplaceTheirCopies) {
  WriteCopy(0);
  WriteRing(1, 2);
  WriteCopy(1);
  Write("rings/r1.ring.copy.partial", MakeFullRing(1, 2).Build());
  RingFileBuilder moved = MakeFullRing(0, 2);
  moved.threads[0].polls = 12345;
  Hold(0, moved);
  const Trace trace = Load();
  EXPECT_EQ(Messages(trace), "");
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_EQ(trace.processes[0].threads[0].polls + trace.processes[1].threads[0].polls,
            12345 + MakeFullRing(1, 2).threads[0].polls);
}

TEST_F(RingsInMemoryTest, CopiesStandForProcessesThatAreGone) {
  for (const int32_t rank : {0, 1}) {
    WriteCopy(rank);
    WriteQuiet(rank);
  }
  machine_.processes.clear();
  const Trace trace = Load();
  EXPECT_EQ(Messages(trace), "");
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_TRUE(trace.processes[1].quiet);
}

// A process may have made any number of calls since its copy: that must not accuse it of a hang.
TEST_F(RingsInMemoryTest, CopiesOfLiveProcessesAreNotQuiet) {
  for (const int32_t rank : {0, 1}) {
    WriteCopy(rank);
    WriteQuiet(rank);
  }
  machine_.processes.erase(101);
  machine_.memory_rings.rings.push_back(
      {.path = (dir_ / "rings/r0.ring").string(), .pid = 100, .fd = {}, .error = "denied"});
  const Trace trace = Load();
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_FALSE(trace.processes[0].quiet);
  EXPECT_FALSE(trace.processes[1].quiet) << "it may have ended after its copy was made";
  EXPECT_THAT(Messages(trace), HasSubstr("r0.ring: its bytes are in the memory of process 100"));
  EXPECT_THAT(Messages(trace), HasSubstr("r0.ring.copy: an older copy"));
}

TEST_F(RingsInMemoryTest, ThatAreLostAreReported) {
  WriteRing(0, 2);
  machine_.memory_rings.denied = 3;
  const Trace trace = Load();
  EXPECT_THAT(Messages(trace), HasSubstr("journal.jsonl: 1 of the processes that it names left no "
                                         "trace"));
  EXPECT_THAT(Messages(trace), HasSubstr("3 processes of this user do not let"));
}

TEST_F(LoadInputsTest, PollingIsRecordedAndIsNotMovement) {
  WriteRing(0, 1);
  machine_.processes = {{100, 5000}};
  machine_.meanwhile = [&] {
    RingFileBuilder polled = MakeFullRing(0, 1);
    polled.threads[0].polls += 3;
    Write("rings/r0.ring", polled.Build());
  };
  const Trace trace = Load();
  EXPECT_TRUE(trace.processes[0].quiet);
  EXPECT_TRUE(trace.processes[0].threads[0].polling);
}

TEST_F(LoadInputsTest, ProcessThatEndedBetweenSamplesIsNotQuiet) {
  WriteRing(0, 1);
  machine_.processes = {{100, 5000}};
  machine_.meanwhile = [&] { machine_.processes.clear(); };
  EXPECT_FALSE(Load().processes[0].quiet);
}

TEST_F(LoadInputsTest, ProcessesOnOtherHostsAreUnknown) {
  WriteRing(0, 1);
  machine_.host = "laptop";
  machine_.processes = {{100, 5000}};
  const Trace trace = Load();
  EXPECT_EQ(trace.processes[0].end.how, ProcessEnd::How::kUnknown);
  EXPECT_FALSE(trace.processes[0].quiet);
}

// For example, the namespace of a container. Nothing shows whether the process has ended.
TEST_F(LoadInputsTest, ProcessesInAHiddenPidNamespaceAreUnknown) {
  RingFileBuilder ring = MakeFullRing(0, 1);
  ring.header.pid_namespace = FakeMachine::kHiddenNamespace;
  Write("rings/r0.ring", ring.Build());
  EXPECT_EQ(Load().processes[0].end.how, ProcessEnd::How::kUnknown);
}

TEST_F(LoadInputsTest, ReportsBadFilesAndReadsTheRest) {
  WriteRing(0, 4);
  Write("rings/empty.ring", {});
  Write("rings/foreign.ring", {'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u'});
  auto bytes = MakeFullRing(1, 4).Build();
  bytes.resize(sizeof(ring::FileHeader) + 128);
  Write("rings/short.ring", bytes);
  bytes = MakeFullRing(2, 4).Build();
  PutAt(&bytes, offsetof(ring::FileHeader, version_major), uint16_t{7});
  Write("rings/new.ring", bytes);
  Write("rings/notes.txt", {'x'});
  Write("core", {0x7f, 'E', 'L', 'F'});
  ASSERT_EQ(mkfifo((dir_ / "rings/pipe.ring").c_str(), 0600), 0);
  const Trace trace = Load();
  EXPECT_THAT(trace.processes, SizeIs(2));
  std::map<std::string, std::set<ProblemCode>> codes;  // by file
  for (const Problem& problem : trace.problems) {
    codes[fs::path(problem.source).filename().string()].insert(problem.code);
  }
  EXPECT_THAT(codes,
              UnorderedElementsAre(Pair("empty.ring", ElementsAre(ProblemCode::kTruncated)),
                                   Pair("foreign.ring", ElementsAre(ProblemCode::kForeign)),
                                   Pair("short.ring", ElementsAre(ProblemCode::kTruncated)),
                                   Pair("new.ring", ElementsAre(ProblemCode::kUnknownVersion)),
                                   Pair("", ElementsAre(ProblemCode::kMissing))));
  EXPECT_THAT(Messages(trace), HasSubstr("new.ring: ring format version 7."));
  EXPECT_THAT(Messages(trace), HasSubstr("no trace of ranks 2,3, of 4 ranks"));
}

TEST_F(LoadInputsTest, RecognizesFormatsByContent) {
  Write("a.bin", MakeFullRing(0, 2).Build());
  Write("b.txt", MakeFullRing(1, 2).Build());
  const std::string line = FormatJournalLine(journal::JobEnd{1, false, 1});
  Write("c.log", std::vector<uint8_t>(line.begin(), line.end()));
  EXPECT_THAT(Load().processes, SizeIs(2));
  const Trace trace =
      Load({(dir_ / "a.bin").string(), (dir_ / "b.txt").string(), (dir_ / "c.log").string()});
  EXPECT_THAT(trace.processes, SizeIs(2));
  EXPECT_EQ(Messages(trace), "");
  Write("d", {0, '?'});
  EXPECT_THAT(Codes(Load({(dir_ / "d").string()}).problems), ElementsAre(ProblemCode::kForeign));
  EXPECT_THAT(Codes(Load({(dir_ / "missing").string()}).problems),
              ElementsAre(ProblemCode::kUnreadable));
}

// The contents of a file fit at most one format. A file that the user named is read as a log if it
// is text and its contents fit no other format.
TEST(InputFormat, DetectedByContentBeforeName) {
  const auto find = [](const std::string& name, const std::string& text, bool asked_for) {
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    MemorySource source(bytes);
    return ReadContent({.path = name, .directory = "", .name = name, .asked_for = asked_for},
                       source)
        .format;
  };
  const std::string dump = R"({"version": "2.4", "pg_config": {}, "entries": []})";
  EXPECT_EQ(find("x", dump, false), &kDumpFormat);
  EXPECT_EQ(find("x", dump, true), &kDumpFormat);
  EXPECT_EQ(find("x.ring", dump, false), &kDumpFormat);
  EXPECT_EQ(find("x", R"({"layers": 4})", false), nullptr);
  EXPECT_EQ(find("x", R"({"layers": 4})", true), &kLogFormat);
  EXPECT_EQ(find("x", FormatJournalLine(journal::JobEnd{1, false, 1}), false), &kJournalFormat);
  EXPECT_EQ(find("x.ring", "", false), &kRingFormat);
  EXPECT_EQ(find("journal.jsonl", "", false), &kJournalFormat);
  EXPECT_EQ(find("x", "\x28\xb5\x2f\xfd", false), &kBundleFormat);
  EXPECT_EQ(find("sources.jsonl", "{}", false), nullptr) << "only bundles have it";
  EXPECT_EQ(find("x", "", true), nullptr);
}

TEST_F(LoadInputsTest, ListsTheFilesThatHoldTraces) {
  WriteRing(0, 1);
  Write("rings/notes.txt", {'x'});
  WriteJournal({journal::JobEnd{1, false, 1}});
  const Inputs loaded = LoadInputs({dir_.string()}, {}, machine_);
  ASSERT_THAT(loaded.files, SizeIs(2));
  EXPECT_EQ(loaded.files[0].file.name, "journal.jsonl");
  EXPECT_EQ(loaded.files[0].format, &kJournalFormat);
  EXPECT_EQ(loaded.files[1].file.name, "r0.ring");
  EXPECT_EQ(loaded.files[1].format, &kRingFormat);
}

TEST_F(LoadInputsTest, ReturnsTheStacksOfABundle) {
  const std::string text = "{\"format\":\"rollcall-stacks\",\"version\":1}\n";
  const std::string path = directory_.path() + "/b.tar.zst";
  {
    bundle::Writer writer(path, "test", 1);
    writer.Add("0/stacks.jsonl", text);
    writer.Add("1/stacks.jsonl", text + text);
    ASSERT_TRUE(writer.Finish());
  }
  const Inputs inputs = LoadInputs({path});
  ASSERT_EQ(inputs.stacks.size(), 2U);
  EXPECT_EQ(inputs.stacks[0].text, text);
  EXPECT_EQ(inputs.stacks[1].text, text + text);
  EXPECT_EQ(inputs.stacks[1].source, path + ": 1/stacks.jsonl");
  EXPECT_TRUE(inputs.trace.processes.empty());
}

TEST_F(LoadInputsTest, ReportsAnEmptyDirectory) {
  EXPECT_THAT(Codes(Load().problems), ElementsAre(ProblemCode::kMissing));
}

TEST(ThisMachine, KnowsItsOwnProcesses) {
  ring::FileHeader header = {};
  header.pid = static_cast<uint32_t>(getpid());
  header.process_start_ticks = ProcessStartTicks(getpid());
  EXPECT_EQ(ThisMachine().LifeOf(header), Machine::Life::kAlive);
  ++header.process_start_ticks;
  EXPECT_EQ(ThisMachine().LifeOf(header), Machine::Life::kGone);
  header.pid_namespace = OwnPidNamespace();
  EXPECT_NE(header.pid_namespace, 0u);
  EXPECT_EQ(ThisMachine().LifeOf(header), Machine::Life::kGone);
  ++header.pid_namespace;
  EXPECT_EQ(ThisMachine().LifeOf(header), OwnPidNamespace() == kInitialPidNamespace
                                              ? Machine::Life::kGone
                                              : Machine::Life::kUnknown);
  EXPECT_NE(ThisMachine().Hostname(), "");
  EXPECT_GT(ThisMachine().NowNs(), 1'600'000'000'000'000'000);
}

}  // namespace
}  // namespace rollcall
