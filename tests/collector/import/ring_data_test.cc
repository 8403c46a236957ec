// SPDX-License-Identifier: Apache-2.0
// The data of collectives: from the ring file to the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/append_trace.h"
#include "collector/import/ring_image.h"
#include "collector/import/ring_reader.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Bytes = RingFileBuilder::Bytes;
using ring::DataSide;

// A ring with a communicator of two ranks.
RingFileBuilder TwoRanks(uint32_t* world) {
  RingFileBuilder builder(0, 2);
  builder.AddThread(1);
  *world = builder.AddMember(0xfeed, 0, 2, ring::kIsWorld);
  return builder;
}

std::vector<uint64_t> Sequences(const RingSnapshot& ring) {
  std::vector<uint64_t> sequences;
  for (const ring::DataRecord& record : ring.data) sequences.push_back(record.sequence);
  return sequences;
}

TEST(RingData, ReadsWhatWasWritten) {
  const Trace trace = TraceOf({MakeFullRing(1, 4)});
  ASSERT_NE(trace.members[0].data, kNoIndex);
  EXPECT_EQ(trace.members[1].data, kNoIndex);
  const MemberData& data = trace.data[trace.members[0].data];
  ASSERT_THAT(data.reads, SizeIs(1));
  const DataRead& read = data.reads[0];
  EXPECT_EQ(read.side, DataSide::kResult);
  EXPECT_EQ(read.sequence, 1u);
  EXPECT_EQ(read.order, 1u);
  EXPECT_EQ(read.bytes, 24u);
  EXPECT_EQ(read.words.words, 3u);
  EXPECT_EQ(read.call_path, trace.members[0].events[0].call_path);
  EXPECT_TRUE(read.IsRead());
  ASSERT_THAT(data.blocks, SizeIs(1));
  EXPECT_THAT(data.blocks[0].hashes, ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(data.counted);
  EXPECT_EQ(data.read, 2u);
  EXPECT_EQ(data.unread_why, static_cast<uint32_t>(ring::Unread::kLayout));
  EXPECT_EQ(data.outside, 3u);
  EXPECT_TRUE(trace.processes[0].reads_data);
  EXPECT_FALSE(data.input.has_value());
  ASSERT_THAT(data.checkpoints, SizeIs(1));
  EXPECT_EQ(data.checkpoints[0].hash, 99u);
  ASSERT_THAT(trace.processes[0].replicas, SizeIs(1));
  EXPECT_EQ(trace.processes[0].replicas[0].name, "weights");
  EXPECT_EQ(trace.processes[0].replicas[0].data.sequence, 1u);
}

// A NaN may have been before, of a communicator that is freed.
TEST(RingData, KnowsThatAFirstNaNIsForgotten) {
  RingFileBuilder builder = MakeFullRing(1, 4);
  EXPECT_EQ(TraceOf({builder}).processes[0].data_unreadable, 0u);
  ring::DataMember freed{};
  freed.uid = 4711;
  freed.read = 1;
  builder.data_members.push_back(freed);
  EXPECT_EQ(TraceOf({builder}).processes[0].data_unreadable, 0u);
  builder.data_members.back().result.sequence = 1;
  EXPECT_EQ(TraceOf({builder}).processes[0].data_unreadable, 1u);
}

// Version 1.9: the last field is of 1.10.
TEST(RingData, AcceptsSmallerMembers) {
  RingFileBuilder builder = MakeFullRing(1, 4);
  builder.header.version_minor = 9;
  Bytes bytes = builder.Build();
  const size_t at = SectionAt(bytes, ring::SectionKind::kDataMembers);
  auto section = GetAt<ring::Section>(bytes, at);
  section.element_bytes = 288;
  PutAt(&bytes, at, section);
  const RingSnapshot ring = Read(bytes);
  EXPECT_THAT(ring.problems, IsEmpty());
  ASSERT_THAT(ring.data_members, SizeIs(1));
  EXPECT_EQ(ring.data_members[0].read, 2u);
  EXPECT_EQ(ring.data_members[0].outside, 0u);
  section.element_bytes = 280;
  PutAt(&bytes, at, section);
  EXPECT_THAT(Read(bytes).data_members, IsEmpty());
}

// From the files to the finding: rank 1 of 2 passes NaN.
TEST(RingData, IsJudged) {
  const auto of_rank = [](int32_t rank) {
    RingFileBuilder builder(rank, 2);
    const uint32_t path = builder.AddPath({{builder.AddModule("/bin/app"), 0x1234}});
    builder.AddThread(1);
    const uint32_t world = builder.AddMember(0xfeed, rank, 2, ring::kIsWorld);
    ring::Record call = builder.MakeRecord(Operation::kAllreduce, 1000, world, 1);
    call.send_count = call.recv_count = 2;
    call.send_datatype = call.recv_datatype = 15;
    call.reduce_op = static_cast<uint16_t>(ReduceOp::kSum);
    call.call_path = path;
    builder.Append(0, call);
    builder.members[0].entered = builder.members[0].completed = 1;
    builder.CountCalls();
    for (const DataSide side : {DataSide::kInput, DataSide::kResult}) {
      ring::DataRecord data = builder.MakeData(side, world, 1);
      data.call_path = path;
      data.type_class = static_cast<uint16_t>(TypeClass::kF64);
      data.nans = side == DataSide::kResult || rank == 1;
      data.non_finite = 1;
      data.non_finite_bits = 0x7ff8000000000000;
      builder.AppendData(data);
    }
    ring::DataMember member{};
    member.uid = world;
    member.read = 2;
    builder.data_members.push_back(member);
    return builder;
  };
  const Trace trace = TraceOf({of_rank(0), of_rank(1)});
  const Report report = Diagnose(trace);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].kind, VerdictKind::kNonFiniteInput);
  EXPECT_EQ(report.findings[0].certainty, Certainty::kProven);
  EXPECT_EQ(
      report.findings[0].title,
      "rank 1 passed NaN to MPI_Allreduce #1 on MPI_COMM_WORLD; all other inputs were finite");
}

TEST(RingData, KeepsTheFirstNonFiniteNumber) {
  RingFileBuilder builder = MakeFullRing(1, 4);
  ring::NonFinite& input = builder.data_members[0].input;
  input.sequence = 1;
  input.operation = static_cast<uint16_t>(Operation::kAllreduce);
  input.reduce_op = static_cast<uint16_t>(ReduceOp::kSum);
  input.datatype = 15;
  input.reading = static_cast<uint16_t>(ring::DataReading::kSampled);
  input.element = 7;
  input.nans = 2;
  input.call_path = builder.data[0].call_path;
  const Trace trace = TraceOf({builder});
  const auto& first = trace.data[0].input;
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->operation, Operation::kAllreduce);
  EXPECT_EQ(trace.datatypes[first->datatype].name, "MPI_DOUBLE");
  EXPECT_EQ(first->reading, ring::DataReading::kSampled);
  EXPECT_EQ(first->element, 7u);
  EXPECT_NE(first->call_path, kNoIndex);

  Trace both = TraceOf({MakeFullRing(0, 4)});
  AppendTrace(trace, &both);
  EXPECT_EQ(FindInconsistency(both), "");
  const Member& moved = both.members[2];
  EXPECT_EQ(moved.data, 1u);
  const DataRead& read = both.data[moved.data].reads[0];
  EXPECT_EQ(read.call_path, moved.events[0].call_path);
  EXPECT_EQ(both.data[moved.data].input->call_path, moved.events[0].call_path);
}

TEST(RingData, OldRecordsAreOverwritten) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  for (uint64_t n = 1; n <= 6; ++n) {
    builder.AppendData(builder.MakeData(DataSide::kInput, world, n), 4);
  }
  const Bytes bytes = builder.Build();
  EXPECT_THAT(Sequences(Read(bytes)), ElementsAre(3, 4, 5, 6));
  MemorySource source(bytes);
  const RingSnapshot packed = Read(PackImage(TakeImage(source, "x.ring")));
  EXPECT_THAT(Sequences(packed), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(packed.problems, IsEmpty());
}

TEST(RingData, ImageOfTheNewestRecordsHasNoOthers) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  for (uint64_t n = 1; n <= 21; ++n) {
    builder.AppendData(builder.MakeData(DataSide::kInput, world, n), 16);
  }
  builder.data[20 % 16].lock -= 1;  // is being written
  const Bytes bytes = builder.Build();
  MemorySource source(bytes);
  const RingImage image = TakeImage(source, "x.ring", ImageDepth::kAll, 4);
  EXPECT_EQ(image.table(ring::SectionKind::kData).size(), 4u);
  const RingSnapshot ring = Read(PackImage(image));
  EXPECT_THAT(Sequences(ring), ElementsAre(17, 18, 19, 20));
  EXPECT_THAT(ring.problems, IsEmpty());
}

TEST(RingData, PackedImageOfAPartlyUsedTableReadsTheSame) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  builder.data.resize(3);
  for (uint64_t n = 1; n <= 3; ++n) {
    builder.AppendData(builder.MakeData(DataSide::kInput, world, n));
  }
  builder.min_capacity[static_cast<uint32_t>(ring::SectionKind::kData)] = 100;
  const Bytes bytes = builder.Build();
  MemorySource source(bytes);
  EXPECT_THAT(Sequences(Read(PackImage(TakeImage(source, "x.ring")))), ElementsAre(1, 2, 3));
}

TEST(RingData, DropsTornAndDamagedRecords) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  for (uint64_t n = 1; n <= 5; ++n) {
    builder.AppendData(builder.MakeData(DataSide::kInput, world, n));
  }
  builder.data[1].lock = 3;  // its writer died
  RingSnapshot ring = Read(builder.Build());
  EXPECT_THAT(Sequences(ring), ElementsAre(1, 3, 4, 5));
  EXPECT_EQ(ring.data_unreadable, 1u);
  EXPECT_EQ(ring.unreadable, 0u) << "no statement about a hang depends on it";
  EXPECT_THAT(ring.problems, IsEmpty());
  EXPECT_EQ(TraceOf({builder}).processes[0].data_unreadable, 1u);

  const auto damaged = [&](const std::function<void(ring::DataRecord*)>& damage) {
    RingFileBuilder copy = builder;
    damage(&copy.data[0]);
    const RingSnapshot read = Read(copy.Build());
    EXPECT_THAT(Codes(read.problems), ElementsAre(ProblemCode::kDamaged));
    return Sequences(read) == std::vector<uint64_t>{3, 4, 5};
  };
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->lock = 4; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->lock = ~uint64_t{1}; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->side = 0; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->side = 6; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->reading = 99; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->type_class = 999; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->bytes = ~uint64_t{0}; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) { record->piece_kind = 3; }));
  EXPECT_TRUE(damaged([](ring::DataRecord* record) {
    record->bytes = 800;
    record->words = 100;
    record->piece_kind = static_cast<uint16_t>(ring::DataPieces::kWords);
  }));
  for (const uint16_t first : {uint16_t{60}, uint16_t{65535}}) {
    EXPECT_TRUE(damaged([&](ring::DataRecord* record) {
      ring::DataBlocks blocks{};
      blocks.lock = record->lock;
      blocks.side = static_cast<uint16_t>(DataSide::kResultBlocks);
      blocks.reading = static_cast<uint16_t>(ring::DataReading::kWhole);
      blocks.first = first;
      blocks.count = 17;
      std::memcpy(record, &blocks, sizeof(blocks));
    }));
  }
}

TEST(RingData, JoinsBlocksAndDropsCutOnes) {
  RingFileBuilder builder(0, 20);
  builder.AddThread(1);
  const uint32_t world = builder.AddMember(0xfeed, 0, 20, ring::kIsWorld);
  ring::DataBlocks part{};
  part.member = world;
  part.side = static_cast<uint16_t>(DataSide::kInputBlocks);
  part.reading = static_cast<uint16_t>(ring::DataReading::kWhole);
  const auto add = [&](uint64_t sequence, uint16_t first, uint16_t count) {
    part.sequence = sequence;
    part.first = first;
    part.count = count;
    for (uint64_t k = 0; k < count; ++k) part.hashes[k] = 100 * sequence + first + k;
    builder.AppendData(part);
  };
  add(1, 17, 3);  // its beginning is overwritten
  add(2, 0, 17);
  builder.AppendData(builder.MakeData(DataSide::kResult, world, 1));
  add(2, 17, 3);
  add(3, 0, 17);
  const Trace trace = TraceOf({builder});
  ASSERT_THAT(trace.data, SizeIs(1));
  ASSERT_THAT(trace.data[0].blocks, SizeIs(1));
  EXPECT_EQ(trace.data[0].blocks[0].sequence, 2u);
  ASSERT_THAT(trace.data[0].blocks[0].hashes, SizeIs(20));
  EXPECT_EQ(trace.data[0].blocks[0].hashes[19], 219u);
}

TEST(RingData, RecordsOfUnknownCommunicatorsAreIgnored) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  builder.AppendData(builder.MakeData(DataSide::kInput, 77, 1));
  ring::DataRecord unnamed = builder.MakeData(DataSide::kReplica, 0, 1);
  unnamed.name = 0xffffffff;
  builder.AppendData(unnamed);
  ring::DataMember other{};
  other.uid = 78;
  builder.data_members.push_back(other);
  const Trace trace = TraceOf({builder});
  EXPECT_THAT(trace.data, IsEmpty());
  EXPECT_THAT(trace.processes[0].replicas, IsEmpty());
}

TEST(RingData, SamplersReadWhatIsNeverLostOnly) {
  const Bytes bytes = MakeFullRing().Build();
  MemorySource source(bytes);
  const RingSnapshot ring = ReadRing(source, "x.ring", ImageDepth::kState);
  EXPECT_THAT(ring.data, IsEmpty());
  ASSERT_THAT(ring.data_members, SizeIs(1));
  EXPECT_EQ(ring.data_members[0].read, 2u);
}

// A file in which the place `at` changes whenever a read passes it.
class ChangingSource : public ByteSource {
 public:
  ChangingSource(Bytes bytes, size_t at, std::function<void(Bytes*)> write)
      : bytes_(std::move(bytes)), at_(at), write_(std::move(write)) {}
  uint64_t Size() override { return bytes_.size(); }
  size_t Read(uint64_t offset, void* to, size_t size) override {
    if (offset >= at_ || offset + size <= at_) return Copy(offset, to, size);
    const size_t before = Copy(offset, to, at_ - offset);
    write_(&bytes_);
    return before + Copy(at_, static_cast<uint8_t*>(to) + before, size - before);
  }
  bool Changes() const override { return true; }

 private:
  size_t Copy(uint64_t offset, void* to, size_t size) {
    return MemorySource(bytes_).Read(offset, to, size);
  }

  Bytes bytes_;
  size_t at_;
  std::function<void(Bytes*)> write_;
};

TEST(RingData, RecordOverwrittenDuringTheCopyIsDropped) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  for (uint64_t n = 1; n <= 4; ++n) {
    builder.AppendData(builder.MakeData(DataSide::kInput, world, n), 4);
  }
  const Bytes bytes = builder.Build();
  const size_t slot =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kData)).offset;
  ChangingSource source(bytes, slot + 8, [&](Bytes* file) {
    auto record = GetAt<ring::DataRecord>(*file, slot);
    record.lock += 8;
    record.sequence += 4;
    PutAt(file, slot, record);
  });
  const RingSnapshot ring = ReadRing(source, "x.ring");
  EXPECT_THAT(Sequences(ring), ElementsAre(2, 3, 4));
  EXPECT_THAT(ring.problems, IsEmpty());
}

// Every word is a function of the number, so that a mix of two records is detected.
ring::DataRecord Payload(uint64_t index, uint32_t member) {
  ring::DataRecord record = RingFileBuilder::MakeData(DataSide::kInput, member, index + 1);
  record.lock = 2 * index + 2;
  record.sum = index * 3;
  record.weighted_sum = index * 5;
  record.squared_sum = index * 7;
  record.exclusive = index * 11;
  record.non_finite = index * 13;
  for (uint64_t& piece : record.pieces) piece = index * 17;
  return record;
}

TEST(RingData, NeverReadsAWrongRecordOfALiveRing) {
  uint32_t world = 0;
  RingFileBuilder builder = TwoRanks(&world);
  builder.data.resize(64);
  const Bytes bytes = builder.Build();
  const int fd = memfd_create("ring", MFD_CLOEXEC);
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  void* map = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto section = GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kData));
  auto* slots = reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(map) + section.offset);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    constexpr size_t kWords = sizeof(ring::DataRecord) / 8;
    for (uint64_t index = 0; !stop.load(std::memory_order_relaxed); ++index) {
      uint64_t words[kWords];
      const ring::DataRecord record = Payload(index, world);
      std::memcpy(words, &record, sizeof(record));
      uint64_t* to = slots + index % 64 * kWords;
      __atomic_store_n(&to[0], words[0] - 1, __ATOMIC_RELAXED);
      std::atomic_thread_fence(std::memory_order_release);
      for (size_t k = 1; k < kWords; ++k) __atomic_store_n(&to[k], words[k], __ATOMIC_RELAXED);
      __atomic_store_n(&to[0], words[0], __ATOMIC_RELEASE);
    }
  });
  FileSource source(fd);
  uint64_t records = 0;
  for (int round = 0; round < 2000 || records == 0; ++round) {
    const RingSnapshot ring = ReadRing(source, "live");
    for (const ring::DataRecord& record : ring.data) {
      const ring::DataRecord expected = Payload(record.lock / 2 - 1, world);
      EXPECT_EQ(std::memcmp(&record, &expected, sizeof(record)), 0) << record.lock;
    }
    records += ring.data.size();
    EXPECT_THAT(ring.problems, IsEmpty());
    if (HasFailure()) break;
  }
  stop = true;
  writer.join();
  EXPECT_THAT(ReadRing(source, "still").data, SizeIs(64));
  munmap(map, bytes.size());
  close(fd);
}

TEST(RingData, CheckpointWrittenDuringTheCopyIsDropped) {
  const Bytes bytes = MakeFullRing().Build();
  const size_t checkpoint =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kDataMembers)).offset +
      offsetof(ring::DataMember, recent);
  ChangingSource source(bytes, checkpoint + 8, [&](Bytes* file) {
    auto entry = GetAt<ring::DataCheckpoint>(*file, checkpoint);
    ++entry.results;
    ++entry.hash;
    PutAt(file, checkpoint, entry);
  });
  const RingSnapshot ring = ReadRing(source, "x.ring");
  ASSERT_THAT(ring.data_members, SizeIs(1));
  EXPECT_EQ(ring.data_members[0].recent[0].results, 0u);
}

}  // namespace
}  // namespace rollcall
