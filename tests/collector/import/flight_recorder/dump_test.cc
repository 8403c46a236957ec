// SPDX-License-Identifier: Apache-2.0
// Reading of intact, damaged and hostile dumps.
#include "collector/import/flight_recorder/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "collector/import/flight_recorder/operation_name.h"
#include "tests/support/dump_writer.h"
#include "tests/support/problem_codes.h"

namespace rollcall::flight_recorder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using std::string_literals::operator""s;  // NOLINT(misc-unused-using-decls): a false alarm
using testing::SizeIs;

WrittenDump Sample() {
  WrittenDump dump;
  dump.groups.push_back({0, "0", "default_pg", {0, 1}, 4, -1, 3});
  dump.groups.push_back({3, "12", "PIPELINE_MODEL_PARALLEL_GROUP", {0, 1}, 2, -1, 1});
  dump.frames = {{"all_reduce", "c10d.py", 10}, {"step", "train.py", 20}, {"main", "train.py", 90}};
  for (uint64_t i = 1; i <= 4; ++i) {
    WrittenEntry entry;
    entry.record_id = 300 + i;
    entry.collective_seq = i;
    entry.op_id = i;
    entry.name = "nccl:all_reduce";
    entry.input_sizes = entry.output_sizes = {{2, 3}, {4}};
    entry.created_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(i);
    entry.state = i < 4 ? "completed" : "scheduled";
    entry.frames = {0, 1, 2};
    dump.entries.push_back(entry);
  }
  dump.entries[3].pg_id = 3;
  dump.entries[3].is_p2p = true;
  dump.entries[3].name = "nccl:send 0->1";
  dump.entries[3].input_dtype = "BFloat16";
  return dump;
}

Dump Read(const std::string& bytes, Format format = Format::kPickle,
          uint64_t max_visits = kMaxVisits) {
  MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return ReadDump(source, "dump_0", format, max_visits);
}

void CheckSample(const Dump& dump, bool frames) {
  EXPECT_TRUE(dump.usable);
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_EQ(dump.version, "2.9");
  ASSERT_THAT(dump.groups, SizeIs(2));
  EXPECT_EQ(dump.strings.Get(dump.groups[1].name), "12");
  EXPECT_THAT(ParseRanks(dump.strings.Get(dump.groups[1].ranks_text)), ElementsAre(0, 1));
  ASSERT_THAT(dump.statuses, SizeIs(2));
  EXPECT_EQ(dump.statuses[1].pg_id, 3);
  EXPECT_EQ(dump.statuses[1].enqueued, 2);
  EXPECT_EQ(dump.statuses[1].started, -1);
  ASSERT_THAT(dump.entries, SizeIs(4));
  const Entry& first = dump.entries[0];
  EXPECT_EQ(first.record_id, 301u);
  EXPECT_EQ(first.created_ns, 1'700'000'000'000'000'001);
  EXPECT_EQ(first.started_ns, kNoTime);
  EXPECT_EQ(first.input.elements, 10u);
  EXPECT_TRUE(first.input.known);
  EXPECT_EQ(dump.strings.Get(first.input.dtype), "Float");
  EXPECT_EQ(first.state, State::kCompleted);
  const Entry& last = dump.entries[3];
  EXPECT_EQ(last.state, State::kScheduled);
  EXPECT_TRUE(last.is_p2p);
  EXPECT_EQ(dump.strings.Get(last.pg_name), "12");
  if (!frames) return;
  ASSERT_THAT(dump.paths, SizeIs(1));
  ASSERT_THAT(dump.paths[0], SizeIs(3));
  EXPECT_EQ(dump.frames[dump.paths[0][1]].line, 20);
  EXPECT_EQ(dump.strings.Get(dump.frames[dump.paths[0][1]].file), "train.py");
  EXPECT_EQ(last.path, first.path);
}

TEST(FlightRecorderDump, ReadsPickle) { CheckSample(Read(ToPickle(Sample())), true); }

TEST(FlightRecorderDump, ReadsJson) { CheckSample(Read(ToJson(Sample()), Format::kJson), false); }

TEST(FlightRecorderDump, OldVersionsLackStatus) {
  WrittenDump old = Sample();
  old.version = "2.0";
  const Dump dump = Read(ToPickle(old));
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_THAT(dump.statuses, IsEmpty());
  EXPECT_THAT(dump.entries, SizeIs(4));
}

TEST(FlightRecorderDump, ManyStringsNeedLongMemoNumbers) {
  WrittenDump dump = Sample();
  for (int i = 0; i < 400; ++i) {
    dump.groups.push_back({10 + i, std::to_string(100 + i), "G" + std::to_string(i), {0}, 1, 1, 1});
  }
  const Dump read = Read(ToPickle(dump));
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_THAT(read.groups, SizeIs(402));
  EXPECT_EQ(read.strings.Get(read.groups[401].desc), "G399");
  EXPECT_THAT(read.entries, SizeIs(4));
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// pickle.dumps({"version": "2.9", "entries": [{"record_id": 7, "duration_ms": 1.5, "pg": (), "one":
// (1,), "three": (1, 2, 3), "big": -2**40}]}, protocol).hex() of Python 3.11, for 2, 4 and 5.
TEST(FlightRecorderDump, ReadsTheOutputOfPythonsPickler) {
  constexpr const char* kProtocols[] = {
      "80027d710028580700000076657273696f6e71015803000000322e3971025807000000656e7472696573"
      "71035d71047d71052858090000007265636f72645f696471064b07580b0000006475726174696f6e5f6d"
      "737107473ff80000000000005802000000706771082958030000006f6e6571094b0185710a5805000000"
      "7468726565710b4b014b024b0387710c5803000000626967710d8a060000000000ff7561752e",
      "80049579000000000000007d94288c0776657273696f6e948c03322e39948c07656e7472696573945d94"
      "7d94288c097265636f72645f6964944b078c0b6475726174696f6e5f6d7394473ff80000000000008c02"
      "706794298c036f6e65944b0185948c057468726565944b014b024b0387948c03626967948a0600000000"
      "00ff7561752e",
      "80059579000000000000007d94288c0776657273696f6e948c03322e39948c07656e7472696573945d94"
      "7d94288c097265636f72645f6964944b078c0b6475726174696f6e5f6d7394473ff80000000000008c02"
      "706794298c036f6e65944b0185948c057468726565944b014b024b0387948c03626967948a0600000000"
      "00ff7561752e"};
  for (const char* hex : kProtocols) {
    const std::string bytes = FromHex(hex);
    MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_EQ(Recognize(source), Format::kPickle);
    const Dump dump = Read(bytes);
    EXPECT_THAT(dump.problems, IsEmpty()) << dump.problems[0].message;
    EXPECT_EQ(dump.version, "2.9");
    ASSERT_THAT(dump.entries, SizeIs(1));
    EXPECT_EQ(dump.entries[0].record_id, 7u);
  }
}

TEST(FlightRecorderDump, RefusesOpcodesThatWouldExecuteCode) {
  const struct {
    const char* name;
    std::string bytes;
  } kCases[] = {
      {"GLOBAL",
       "\x80\x02"
       "cos\nsystem\n(X\x02\0\0\0idtR."s},
      {"REDUCE", "\x80\x02}(X\x01\0\0\0a)R"s},
      {"STACK_GLOBAL", "\x80\x04\x8c\x02os\x8c\x06system\x93."},
      {"BUILD", "\x80\x02}}b."},
      {"INST", "\x80\x02(ios\nsystem\n."},
      {"OBJ", "\x80\x02(o."},
      {"NEWOBJ", "\x80\x02}}\x81."},
      {"BINPERSID", "\x80\x02}Q."},
      {"EXT1", "\x80\x02\x82\x01."},
      {"FLOAT",
       "\x80\x02"
       "F1.5\n."},
  };
  for (const auto& [name, bytes] : kCases) {
    const Dump dump = Read(bytes);
    EXPECT_FALSE(dump.usable) << name;
    ASSERT_THAT(Codes(dump.problems), ElementsAre(ProblemCode::kRefused)) << name;
    EXPECT_THAT(dump.problems[0].message, HasSubstr(std::string("opcode ") + name + " "));
    EXPECT_GE(dump.problems[0].offset, 2) << name;
    EXPECT_EQ(dump.problems[0].source, "dump_0");
  }
}

TEST(FlightRecorderDump, TruncatedFileKeepsTheEntriesBeforeTheCut) {
  const std::string whole = ToPickle(Sample());
  size_t entries = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const Dump dump = Read(whole.substr(0, size));
    ASSERT_THAT(Codes(dump.problems), ElementsAre(ProblemCode::kTruncated)) << size;
    EXPECT_GE(dump.problems[0].offset, 0);
    EXPECT_LE(dump.problems[0].offset, static_cast<int64_t>(size));
    EXPECT_GE(dump.entries.size(), entries) << size;
    entries = dump.entries.size();
    if (entries == 2) {
      EXPECT_THAT(dump.groups, SizeIs(2)) << "what stands before the entries is whole";
    }
  }
  EXPECT_EQ(entries, 4u);
  const std::string json = ToJson(Sample());
  for (size_t size = 0; size < json.size(); ++size) {
    const Dump dump = Read(json.substr(0, size), Format::kJson);
    ASSERT_THAT(Codes(dump.problems), ElementsAre(ProblemCode::kTruncated)) << size;
  }
  EXPECT_THAT(Read(json.substr(0, json.size() - 2), Format::kJson).entries, SizeIs(4));
}

TEST(FlightRecorderDump, LengthsAreCheckedAgainstTheFile) {
  for (const std::string& bytes : {std::string("\x80\x02}(X\xff\xff\xff\xff"
                                               "abc",
                                               12),
                                   std::string("\x80\x04}(\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"
                                               "abc",
                                               16)}) {
    const Dump dump = Read(bytes);
    EXPECT_THAT(Codes(dump.problems), ElementsAre(ProblemCode::kTruncated));
  }
  // An integer that claims 255 bytes, a memo number that is far too high, a memo that was never
  // set.
  EXPECT_THAT(Codes(Read(std::string("\x80\x02\x8a\xff"
                                     "ab",
                                     6))
                        .problems),
              ElementsAre(ProblemCode::kTruncated));
  for (const std::string& bytes :
       {std::string("\x80\x02}r\xff\xff\xff\x7f.", 9), std::string("\x80\x02h\x07.")}) {
    EXPECT_THAT(Codes(Read(bytes).problems), ElementsAre(ProblemCode::kDamaged));
  }
}

TEST(FlightRecorderDump, ReadingDeepAndSelfContainingValuesEnds) {
  std::string deep = "\x80\x02";
  for (int i = 0; i < 1'000'000; ++i) deep += ']';
  for (int i = 0; i < 999'999; ++i) deep += 'a';
  EXPECT_THAT(Read(deep + ".").problems, SizeIs(1));
  // A list that contains itself, as the sizes of an entry.
  const std::string self(
      "\x80\x02}(X\x07\0\0\0entries](}(X\x0b\0\0\0input_sizes]q\x01h\x01"
      "aueu.",
      46);
  const Dump dump = Read(self);
  ASSERT_THAT(dump.entries, SizeIs(1));
  EXPECT_FALSE(dump.entries[0].input.known);
  std::string json(100'000, '[');
  EXPECT_THAT(Codes(Read("{\"entries\":" + json, Format::kJson).problems),
              ElementsAre(ProblemCode::kOverLimit));
}

// First, 40 lists, each of which contains its predecessor twice; then, one long list that many
// entries share as their sizes.
TEST(FlightRecorderDump, SharedValuesAreNotMultiplied) {
  std::string bomb("\x80\x02}(X\x07\0\0\0entries](}(X\x0b\0\0\0input_sizes]q\x01", 39);
  for (int i = 1; i < 40; ++i) {
    bomb += std::string("0](h") + static_cast<char>(i) + "h" + static_cast<char>(i) + "eq" +
            static_cast<char>(i + 1);
  }
  const Dump deep = Read(bomb + "ueu.");
  EXPECT_THAT(deep.problems, IsEmpty());
  ASSERT_THAT(deep.entries, SizeIs(1));
  EXPECT_FALSE(deep.entries[0].input.known);

  std::string shared("\x80\x02}(X\x05\0\0\0sizes](", 16);
  for (int i = 0; i < 4000; ++i)
    shared +=
        "](K\x01"
        "e";
  shared += std::string("eq\x01X\x07\0\0\0entries](", 17);
  for (int i = 0; i < 300; ++i) shared += std::string("}(X\x0b\0\0\0input_sizesh\x01u", 21);
  EXPECT_THAT(Read(shared + "eu.").problems, IsEmpty());
  const Dump dump = Read(shared + "eu.", Format::kPickle, 1'000'000);
  EXPECT_THAT(Codes(dump.problems), ElementsAre(ProblemCode::kOverLimit))
      << "work is bounded: a part is left out";
}

TEST(FlightRecorderDump, RandomDamageNeverBreaksTheReader) {
  std::mt19937 random(7);
  const std::string pickle = ToPickle(Sample());
  const std::string json = ToJson(Sample());
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = i % 2 == 0 ? pickle : json;
    for (int k = 0; k < 1 + i % 4; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    Read(bytes, i % 2 == 0 ? Format::kPickle : Format::kJson);
  }
}

TEST(FlightRecorderDump, ReadsRepeatedKeysAndNumbersOutOfRange) {
  // Of two equal keys the last one is used. Numbers that are out of range are ignored.
  const Dump dump = Read(
      R"({"version":"1","version":"2.9","pg_config":{},"entries":[{"record_id":1e30},)"
      R"({"record_id":18446744073709551615,"collective_seq_id":-5,"state":7,"frames":{}},3,null]})",
      Format::kJson);
  EXPECT_THAT(dump.problems, IsEmpty());
  EXPECT_EQ(dump.version, "2.9");
  ASSERT_THAT(dump.entries, SizeIs(2));
  EXPECT_EQ(dump.entries[0].record_id, 0u);
  EXPECT_EQ(dump.entries[1].collective_seq, 0u);
  const Dump utf8 = Read("{\"version\":\"\xff\"}", Format::kJson);
  ASSERT_THAT(utf8.problems, SizeIs(1));
  EXPECT_GT(utf8.problems[0].offset, 0);
  EXPECT_THAT(Read(R"({"version":1e999})", Format::kJson).problems, SizeIs(1));
  EXPECT_THAT(Read("[1]", Format::kJson).problems, SizeIs(1));
}

TEST(FlightRecorderDump, RejectsFilesThatAreNotDumps) {
  for (const char* text :
       {"", "x", "{\"v\":1}\n", "rank 0 says {}", "[1, 2]", "}", "{\"name\": 1}"}) {
    const std::string bytes = text;
    MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_EQ(Recognize(source), Format::kNone) << text;
  }
}

TEST(FlightRecorderOperationName, NumbersAreInTheirRangeAndCanBeFound) {
  for (const OperationInfo& info : kTorchOperations) {
    EXPECT_TRUE(IsTorch(info.operation)) << info.name;
    EXPECT_EQ(FindOperation(static_cast<uint16_t>(info.operation)).name, info.name);
  }
  for (const OperationInfo& info : kOperations) EXPECT_FALSE(IsTorch(info.operation)) << info.name;
}

TEST(FlightRecorderOperationName, VariantsOfANameAreOneOperation) {
  const auto operation = [](const char* name) { return ParseOperationName(name).operation; };
  EXPECT_EQ(operation("nccl:all_reduce"), Operation::kTorchAllReduce);
  EXPECT_EQ(operation("nccl:_all_gather_base"), Operation::kTorchAllGather);
  EXPECT_EQ(operation("xccl:reduce_scatter_tensor_coalesced"), Operation::kTorchReduceScatter);
  EXPECT_EQ(operation("nccl:_broadcast_oop"), Operation::kTorchBroadcast);
  EXPECT_EQ(operation("nccl:_reduce_oop"), Operation::kTorchReduce);
  EXPECT_EQ(operation("gloo:all_to_all"), Operation::kTorchAllToAll);
  EXPECT_EQ(operation("nccl:all_reduce_barrier"), Operation::kTorchBarrier);
  EXPECT_EQ(operation("something new"), Operation::kTorchOther);
  EXPECT_EQ(ParseOperationName("nccl:send 0->3").peer, 3);
  EXPECT_EQ(ParseOperationName("nccl:recv 3<-0").peer, 0);
  EXPECT_EQ(ParseOperationName("nccl:recv 0<-?").peer, ring::kAnySource);
  EXPECT_EQ(ParseOperationName("nccl:send 0->x").peer, ring::kNoPeer);
}

}  // namespace
}  // namespace rollcall::flight_recorder
