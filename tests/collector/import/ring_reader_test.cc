// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_reader.h"

#include <fcntl.h>
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
#include "collector/import/ring_image.h"
#include "tests/collector/import/read_rings.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Bytes = RingFileBuilder::Bytes;

std::string Problems(const RingSnapshot& snapshot) {
  std::string text;
  for (const Problem& problem : snapshot.problems) {
    text += problem.source + "@" + std::to_string(problem.offset) + ": " + problem.message + "\n";
  }
  return text;
}

TEST(RingReader, ReadsWhatWasWritten) {
  const RingSnapshot ring = Read(MakeFullRing().Build());
  ASSERT_TRUE(ring.usable);
  EXPECT_EQ(Problems(ring), "");
  EXPECT_EQ(ring.unreadable, 0u);
  EXPECT_EQ(ring.header.world_rank, 1);
  ASSERT_THAT(ring.threads, SizeIs(1));
  const RingThread& thread = ring.threads[0];
  std::vector<uint16_t> operations;
  for (const RingRecord& record : thread.calls[ring::kCollectiveRing].records) {
    operations.push_back(record.record.operation);
  }
  EXPECT_THAT(operations, ElementsAre(static_cast<uint16_t>(Operation::kInit),
                                      static_cast<uint16_t>(Operation::kBcast),
                                      static_cast<uint16_t>(Operation::kComm_split),
                                      static_cast<uint16_t>(Operation::kAlltoallv),
                                      static_cast<uint16_t>(Operation::kBarrier)));
  const RingRecord& alltoallv = thread.calls[ring::kCollectiveRing].records[3];
  EXPECT_THAT(ring.count_arrays[alltoallv.send_counts], ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ring.count_arrays[alltoallv.recv_counts], ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(thread.calls[ring::kP2pRing].records, SizeIs(1));
  ASSERT_THAT(thread.open, SizeIs(1));
  EXPECT_EQ(thread.open[0].sequence, 4u);
  EXPECT_THAT(ring.members, SizeIs(2));
  EXPECT_THAT(ring.open_requests, SizeIs(1));
  EXPECT_THAT(ring.channels, SizeIs(1));
  EXPECT_THAT(ring.peer_counts, SizeIs(1));
  EXPECT_THAT(ring.gpu, SizeIs(1));
  EXPECT_EQ(ring.String(ring.modules[0].path), "/bin/app");
  const auto path = ring.Path(alltoallv.record.call_path);
  EXPECT_FALSE(path.has_value());
  const auto bcast = ring.Path(thread.calls[0].records[1].record.call_path);
  ASSERT_TRUE(bcast.has_value());
  EXPECT_EQ(bcast->frames.size(), 3u);
}

TEST(RingReader, CountsLostRecords) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 4, 4);
  for (uint64_t i = 0; i < 11; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, i));
  const RingSnapshot ring = Read(builder.Build());
  const RingCalls& calls = ring.threads[0].calls[0];
  EXPECT_EQ(calls.lost, 7u);
  EXPECT_EQ(calls.unreadable, 0u);
  std::vector<uint64_t> indexes;
  for (const RingRecord& record : calls.records) {
    EXPECT_EQ(record.record.start_ticks, record.index);
    indexes.push_back(record.index);
  }
  EXPECT_THAT(indexes, ElementsAre(7, 8, 9, 10));
}

TEST(RingReader, DropsARecordThatIsBeingOverwritten) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 4, 4);
  for (uint64_t i = 0; i < 6; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, i));
  builder.records[2].lock = 2 * 6 + 1;  // record 6 is being written over record 2
  builder.records[2].start_ticks = 777;
  const RingSnapshot ring = Read(builder.Build());
  EXPECT_EQ(ring.threads[0].calls[0].lost, 3u);
  EXPECT_THAT(ring.threads[0].calls[0].records, SizeIs(3));
}

TEST(RingReader, CountsATornRecord) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 4, 4);
  for (uint64_t i = 0; i < 3; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, i));
  builder.records[1].lock = 3;
  const RingSnapshot ring = Read(builder.Build());
  EXPECT_EQ(ring.threads[0].calls[0].unreadable, 1u);
  EXPECT_THAT(ring.threads[0].calls[0].records, SizeIs(2));
  EXPECT_THAT(Codes(ring.problems), ElementsAre(ProblemCode::kDamaged));
  EXPECT_THAT(Problems(ring), HasSubstr("record 1 of thread 1 has lock 3"));
}

TEST(RingReader, CountArrayWithAMissingPartIsUnknown) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 4, 4);
  const std::vector<uint64_t> counts(30, 5);  // three parts
  builder.AppendWithCounts(0, builder.MakeRecord(Operation::kAllgatherv, 1), {}, counts);
  EXPECT_EQ(Read(builder.Build()).count_arrays[0], counts);
  builder.Append(0, builder.MakeRecord(Operation::kBarrier, 2));  // overwrites the first part
  const RingSnapshot ring = Read(builder.Build());
  ASSERT_THAT(ring.threads[0].calls[0].records, SizeIs(2));
  const RingRecord& record = ring.threads[0].calls[0].records[0];
  EXPECT_TRUE(record.record.flags & ring::kCountsCut);
  EXPECT_EQ(record.recv_counts, kNoIndex);
}

TEST(RingReader, AcceptsLargerElementsAndUnknownSections) {
  // A newer minor version: members have grown, and there is a section of an unknown kind.
  RingFileBuilder builder = MakeFullRing();
  builder.header.version_minor = ring::kVersionMinor + 1;
  Bytes bytes = builder.Build();
  const size_t at = SectionAt(bytes, ring::SectionKind::kMembers);
  auto section = GetAt<ring::Section>(bytes, at);
  const Bytes old(bytes.begin() + static_cast<ptrdiff_t>(section.offset), bytes.end());
  section.element_bytes += 64;
  section.offset = bytes.size();
  bytes.resize(bytes.size() + 2 * section.element_bytes);
  for (size_t i = 0; i < 2; ++i) {
    std::memcpy(bytes.data() + section.offset + i * section.element_bytes,
                old.data() + i * sizeof(ring::Member), sizeof(ring::Member));
  }
  PutAt(&bytes, at, section);
  PutAt(&bytes, offsetof(ring::FileHeader, sections) + 15 * sizeof(ring::Section),
        ring::Section{99, 8, 64, 1, 1, 0});
  PutAt(&bytes, offsetof(ring::FileHeader, section_count), uint32_t{16});
  PutAt(&bytes, offsetof(ring::FileHeader, file_bytes), uint64_t{bytes.size()});
  const RingSnapshot ring = Read(bytes);
  EXPECT_EQ(Problems(ring), "");
  ASSERT_THAT(ring.members, SizeIs(2));
  EXPECT_EQ(ring.members[1].key, 0xbeefu);
}

TEST(RingReader, SumsThatShareAPeerAreDamage) {
  RingFileBuilder builder = MakeFullRing();
  ring::PeerCount sum = builder.peer_counts[0];
  sum.sent = 99;
  builder.peer_counts.push_back(sum);
  sum.peer = 0;
  builder.peer_counts.push_back(sum);
  sum.member = 0;  // free, as is the next one
  builder.peer_counts.push_back(sum);
  builder.peer_counts.push_back(sum);
  const RingSnapshot ring = Read(builder.Build());
  ASSERT_THAT(ring.peer_counts, SizeIs(2));
  EXPECT_EQ(ring.peer_counts[0].peer, 0);
  EXPECT_EQ(ring.peer_counts[1].sent, 30u) << "the first of the two";
  EXPECT_EQ(ring.unreadable, 1u);
  EXPECT_THAT(Codes(ring.problems), ElementsAre(ProblemCode::kDamaged));
  EXPECT_THAT(Problems(ring), HasSubstr("sums of messages share a peer"));
}

TEST(RingReader, LeavesOutValuesThatAreWrittenOrDamaged) {
  RingFileBuilder builder = MakeFullRing();
  const ring::NamedValues sound = builder.values[0];
  const auto add = [&](auto change) {
    ring::NamedValues values = sound;
    change(&values);
    builder.values.push_back(values);
  };
  add([](ring::NamedValues* values) { values->lock = 21; });
  add([](ring::NamedValues* values) { *values = {}; });
  add([](ring::NamedValues* values) { values->name = 0x7fffffff; });
  add([](ring::NamedValues* values) { values->recent[3].type = 99; });
  add([](ring::NamedValues* values) { values->count = UINT64_MAX; });
  const RingSnapshot ring = Read(builder.Build());
  ASSERT_THAT(ring.values, SizeIs(1));
  EXPECT_EQ(ring.String(ring.values[0].name), "batches");
  EXPECT_THAT(Codes(ring.problems),
              ElementsAre(ProblemCode::kDamaged, ProblemCode::kDamaged, ProblemCode::kDamaged));
  EXPECT_THAT(Problems(ring), HasSubstr("recorded values, entry 3"));
  EXPECT_EQ(ring.unreadable, 0u) << "no hang depends on them";
}

TEST(RingReader, ReportsWhatItCannotRead) {
  const Bytes good = MakeFullRing().Build();
  const auto expect = [](const Bytes& bytes, ProblemCode code, int64_t offset) {
    const RingSnapshot ring = Read(bytes);
    EXPECT_FALSE(ring.usable);
    ASSERT_THAT(Codes(ring.problems), ElementsAre(code));
    EXPECT_EQ(ring.problems[0].source, "x.ring");
    EXPECT_EQ(ring.problems[0].offset, offset);
  };
  expect({}, ProblemCode::kTruncated, 0);
  expect(Bytes{'{', '}'}, ProblemCode::kForeign, 0);
  expect(Bytes(8192, 0), ProblemCode::kTruncated, 0);
  EXPECT_EQ(Problems(Read(Bytes{'{', '}'})), "x.ring@0: not a rollcall ring\n");
  EXPECT_THAT(Problems(Read(Bytes(8192, 0))), HasSubstr("never finished"));
  Bytes bytes = good;
  PutAt(&bytes, offsetof(ring::FileHeader, version_major), uint16_t{2});
  expect(bytes, ProblemCode::kUnknownVersion, 12);
  bytes = good;
  PutAt(&bytes, offsetof(ring::FileHeader, byte_order), __builtin_bswap32(ring::kByteOrder));
  expect(bytes, ProblemCode::kForeign, 8);
  bytes = good;
  PutAt(&bytes, offsetof(ring::FileHeader, byte_order), uint32_t{5});
  expect(bytes, ProblemCode::kDamaged, 8);
}

TEST(RingReader, IgnoresImpossibleSections) {
  const Bytes good = MakeFullRing().Build();
  const size_t at = SectionAt(good, ring::SectionKind::kThreads);
  const auto read_with = [&](const ring::Section& section) {
    Bytes bytes = good;
    PutAt(&bytes, at, section);
    const RingSnapshot ring = Read(bytes);
    EXPECT_TRUE(ring.usable);
    EXPECT_THAT(ring.threads, IsEmpty());
    EXPECT_THAT(ring.members, SizeIs(2)) << "the other sections are still used";
    return Codes(ring.problems);
  };
  const auto original = GetAt<ring::Section>(good, at);
  for (const uint64_t huge : {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{1} << 60}) {
    ring::Section section = original;
    section.offset = huge & ~uint64_t{63};
    EXPECT_THAT(read_with(section), Not(IsEmpty()));
    section = original;
    section.capacity = huge;
    EXPECT_THAT(read_with(section), Contains(ProblemCode::kDamaged));
  }
  ring::Section section = original;
  section.element_bytes = sizeof(ring::ThreadEntry) - 8;
  EXPECT_THAT(read_with(section), Contains(ProblemCode::kDamaged));
  section.element_bytes = 0;
  EXPECT_THAT(read_with(section), Contains(ProblemCode::kDamaged));
  section = original;
  section.offset += 1;
  EXPECT_THAT(read_with(section), Contains(ProblemCode::kDamaged));
  section = original;
  section.offset = 0;
  EXPECT_THAT(read_with(section), Contains(ProblemCode::kDamaged));
  section = original;
  section.offset = GetAt<ring::Section>(good, SectionAt(good, ring::SectionKind::kRings)).offset;
  Bytes bytes = good;
  PutAt(&bytes, at, section);
  EXPECT_THAT(Problems(Read(bytes)), HasSubstr("records overlap another section"));
}

TEST(RingReader, HugeUsedMeansAFullTable) {
  Bytes bytes = MakeFullRing().Build();
  const size_t at = SectionAt(bytes, ring::SectionKind::kMembers);
  auto section = GetAt<ring::Section>(bytes, at);
  section.used = uint64_t{1} << 63;
  PutAt(&bytes, at, section);
  const RingSnapshot ring = Read(bytes);
  EXPECT_EQ(Problems(ring), "");
  EXPECT_THAT(ring.members, SizeIs(2));
}

TEST(RingReader, ThreadsCannotClaimTheSameSlots) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 1024, 4);
  for (int i = 0; i < 1024; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, 1));
  for (int i = 0; i < 200; ++i) builder.threads.push_back(builder.threads[0]);
  const RingSnapshot ring = Read(builder.Build());
  size_t records = 0;
  for (const RingThread& thread : ring.threads) records += thread.calls[0].records.size();
  EXPECT_LE(records, 1028u);
  EXPECT_THAT(Codes(ring.problems), Contains(ProblemCode::kDamaged));
}

TEST(RingReader, RefusesRingsThatDoNotFitThePool) {
  const auto codes_of = [](uint64_t first, uint64_t slots, uint64_t head) {
    RingFileBuilder builder(0, 1);
    builder.AddThread(1, 8, 8);
    builder.threads[0].ring_first[0] = first;
    builder.threads[0].ring_slots[0] = slots;
    builder.threads[0].ring_head[0] = head;
    const RingSnapshot ring = Read(builder.Build());
    EXPECT_THAT(ring.threads[0].calls[0].records, IsEmpty());
    return Codes(ring.problems);
  };
  EXPECT_THAT(codes_of(0, 7, 1), Contains(ProblemCode::kDamaged));
  EXPECT_THAT(codes_of(0, uint64_t{1} << 63, 1), Contains(ProblemCode::kDamaged));
  EXPECT_THAT(codes_of(~uint64_t{0}, 8, 1), Contains(ProblemCode::kDamaged));
  EXPECT_THAT(codes_of(9, 8, 1), Contains(ProblemCode::kDamaged));
  EXPECT_THAT(codes_of(0, 8, uint64_t{1} << 63), Contains(ProblemCode::kDamaged));
  EXPECT_THAT(codes_of(0, 8, (uint64_t{1} << 61)), Contains(ProblemCode::kDamaged));
}

TEST(RingReader, IgnoresReferencesOutsideTheirTables) {
  RingFileBuilder builder = MakeFullRing();
  const uint32_t last = builder.AddString("the last");
  RingSnapshot ring = Read(builder.Build());
  EXPECT_EQ(ring.String(last), "the last");
  EXPECT_EQ(ring.String(0), "");
  EXPECT_EQ(ring.String(static_cast<uint32_t>(ring.strings.size())), "");
  EXPECT_EQ(ring.String(static_cast<uint32_t>(ring.strings.size() - 3)), "");
  EXPECT_EQ(ring.String(0xffffffff), "");
  const uint32_t long_size = 0xffffffff;
  std::memcpy(ring.strings.data() + last, &long_size, sizeof(long_size));
  EXPECT_EQ(ring.String(last), "");
  EXPECT_THAT(ring.RankList(builder.AddRanks({{0, 1, 8}}), 7), IsEmpty());

  EXPECT_FALSE(ring.Path(0).has_value());
  EXPECT_FALSE(ring.Path(ring.path_words.size() - 1).has_value());
  EXPECT_FALSE(ring.Path(~uint64_t{0}).has_value());
  EXPECT_TRUE(ring.Path(1).has_value());
  ring::CallPathHeader path{};
  path.depth = 65535;
  std::memcpy(&ring.path_words[1], &path, sizeof(path));
  EXPECT_FALSE(ring.Path(1).has_value());
  ring.path_words.resize(70000);  // long enough, but deeper than any recorded path
  EXPECT_FALSE(ring.Path(1).has_value());
}

TEST(RingReader, UsesTheIntactPartOfATruncatedFile) {
  const Bytes whole = MakeFullRing().Build();
  size_t usable = 0;
  size_t with_threads = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const RingSnapshot ring = Read(bytes);
    ASSERT_THAT(ring.problems, ::testing::Not(IsEmpty())) << size;
    ASSERT_EQ(ring.problems[0].source, "x.ring");
    if (!ring.usable) continue;
    ++usable;
    ASSERT_EQ(ring.header.world_rank, 1);
    if (!ring.threads.empty()) ++with_threads;
  }
  // The rank is known if the fixed part of the header is complete, and its state if the thread
  // table is.
  EXPECT_EQ(usable, whole.size() - offsetof(ring::FileHeader, host));
  const auto threads = GetAt<ring::Section>(whole, SectionAt(whole, ring::SectionKind::kThreads));
  EXPECT_EQ(with_threads, whole.size() - threads.offset - sizeof(ring::ThreadEntry));
}

// Writes `written` collectives into a ring with `slots` slots. Returns the sequence numbers of
// those that an image of the `newest` records contains.
std::vector<uint64_t> NewestOf(uint64_t slots, uint64_t written, uint64_t newest) {
  RingFileBuilder builder(0, 2);
  const uint32_t other = builder.AddThread(99, slots);
  const uint32_t thread = builder.AddThread(100, slots);
  const uint32_t world = builder.AddMember(0xfeed, 0, 2, ring::kIsWorld);
  for (uint64_t n = 1; n <= written; ++n) {
    builder.Append(other, RingFileBuilder::MakeRecord(Operation::kBcast, 1000 * n));
    builder.Append(thread, RingFileBuilder::MakeRecord(Operation::kBarrier, 1000 * n, world, n));
  }
  const Bytes bytes = builder.Build();
  MemorySource source(bytes);
  const RingImage image = TakeImage(source, "x.ring", ImageDepth::kAll, newest);
  EXPECT_LE(image.table(ring::SectionKind::kRings).size(), 2 * (std::min(slots, newest) + 4));
  const RingSnapshot ring = Read(PackImage(image));
  EXPECT_EQ(Problems(ring), "");
  EXPECT_EQ(ring.unreadable, 0u);
  if (ring.threads.size() != 2) return {};
  const RingCalls& calls = ring.threads[1].calls[ring::kCollectiveRing];
  EXPECT_EQ(calls.head, written);
  EXPECT_EQ(calls.lost, written - calls.records.size());
  std::vector<uint64_t> numbers;
  for (const RingRecord& record : calls.records) numbers.push_back(record.record.sequence);
  return numbers;
}

TEST(RingReader, ImageOfTheNewestRecordsHasNoOthers) {
  EXPECT_THAT(NewestOf(16, 9, 4), ElementsAre(6, 7, 8, 9)) << "not lapped";
  EXPECT_THAT(NewestOf(16, 18, 4), ElementsAre(15, 16, 17, 18)) << "across the end of the ring";
  EXPECT_THAT(NewestOf(16, 37, 4), ElementsAre(34, 35, 36, 37)) << "lapped";
  EXPECT_THAT(NewestOf(16, 3, 4), ElementsAre(1, 2, 3)) << "fewer than were asked for";
  EXPECT_THAT(NewestOf(4, 6, 8), ElementsAre(3, 4, 5, 6)) << "a ring of fewer slots";
  EXPECT_THAT(NewestOf(16, 9, 5), ElementsAre(6, 7, 8, 9)) << "a power of two";
  EXPECT_THAT(NewestOf(16, 0, 4), IsEmpty());
}

TEST(RingReader, ImageOfTheNewestRecordsOfADamagedRingIsSafe) {
  for (const uint64_t slots : {uint64_t{3}, uint64_t{1} << 20, uint64_t{1} << 60}) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 61}) {
      RingFileBuilder builder(0, 2);
      const uint32_t thread = builder.AddThread(100, 16);
      for (uint64_t n = 1; n <= 9; ++n) {
        builder.Append(thread, RingFileBuilder::MakeRecord(Operation::kBcast, 1000 * n));
      }
      builder.threads[thread].ring_slots[0] = slots;
      builder.threads[thread].ring_first[0] = first;
      builder.threads[thread].ring_head[0] = UINT64_MAX - 3;
      const Bytes bytes = builder.Build();
      MemorySource source(bytes);
      const RingSnapshot ring = Read(PackImage(TakeImage(source, "x.ring", ImageDepth::kAll, 4)));
      EXPECT_TRUE(ring.usable);
      EXPECT_LE(ring.threads[0].calls[0].records.size(), 4u);
    }
  }
}

TEST(RingReader, PackedImageReadsTheSame) {
  const Bytes whole = MakePythonRing().Build();
  MemorySource source(whole);
  const RingImage image = TakeImage(source, "x.ring");
  const Bytes packed = PackImage(image);
  EXPECT_LE(packed.size(), whole.size());
  const RingSnapshot before = ParseImage(image);
  const RingSnapshot after = Read(packed);
  EXPECT_EQ(Problems(after), "");
  EXPECT_EQ(before.activity, after.activity);
  EXPECT_EQ(after.threads[0].calls[0].records.size(), before.threads[0].calls[0].records.size());
  EXPECT_EQ(after.strings, before.strings);
  EXPECT_EQ(after.path_words, before.path_words);
  ASSERT_THAT(after.python_code, SizeIs(2));
  EXPECT_EQ(after.python_code[1].portable_hash, before.python_code[1].portable_hash);
  EXPECT_EQ(Read(PackImage(image)).unreadable, 0u);
}

TEST(RingReader, ActivityCountsCallsButNotPolls) {
  RingFileBuilder builder = MakeFullRing();
  const uint64_t before = Read(builder.Build()).activity;
  builder.threads[0].polls += 1000;
  EXPECT_EQ(Read(builder.Build()).activity, before);
  builder.Append(0, builder.MakeRecord(Operation::kBarrier, 1));
  EXPECT_EQ(Read(builder.Build()).activity, before + 1);
  builder.threads[0].calls_ended++;
  EXPECT_EQ(Read(builder.Build()).activity, before + 2);
  builder.header.phase++;
  EXPECT_EQ(Read(builder.Build()).activity, before + 3);

  const Bytes bytes = builder.Build();
  MemorySource state(bytes);
  EXPECT_EQ(ReadRing(state, "", ImageDepth::kState).activity, before + 3);
}

// Counts the bytes that are read from the slots of a file that may change.
class CountingSource : public ByteSource {
 public:
  explicit CountingSource(const Bytes& bytes) : bytes_(bytes) {
    const auto rings = GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kRings));
    begin_ = rings.offset;
    end_ = rings.offset + rings.used * rings.element_bytes;
  }
  uint64_t Size() override { return bytes_.size(); }
  size_t Read(uint64_t offset, void* to, size_t size) override {
    if (offset >= begin_ && offset < end_) slot_bytes += size;
    return MemorySource(bytes_).Read(offset, to, size);
  }
  bool Changes() const override { return true; }

  uint64_t slot_bytes = 0;

 private:
  const Bytes& bytes_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

// Most jobs fill only a small part of their rings, and a hostile file claims the same slots for
// each thread.
TEST(RingReader, ReadsOnlySlotsWithRecordsTwice) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 1024, 512);
  for (uint64_t i = 0; i < 3; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, i));
  builder.Append(0, builder.MakeRecord(Operation::kSend, 9), ring::kP2pRing);
  const Bytes bytes = builder.Build();
  CountingSource source(bytes);
  const RingSnapshot ring = ReadRing(source, "x.ring");
  EXPECT_EQ(Problems(ring), "");
  EXPECT_THAT(ring.threads[0].calls[ring::kCollectiveRing].records, SizeIs(3));
  EXPECT_THAT(ring.threads[0].calls[ring::kP2pRing].records, SizeIs(1));
  EXPECT_EQ(source.slot_bytes, 2 * 4 * sizeof(ring::Record));

  for (int i = 0; i < 50; ++i) builder.threads.push_back(builder.threads[0]);
  const Bytes hostile = builder.Build();
  CountingSource again(hostile);
  ReadRing(again, "x.ring");
  EXPECT_EQ(again.slot_bytes, 2 * 4 * sizeof(ring::Record));
}

// A file that is written to while it is copied: when a read passes `tear_at`, the bytes before it
// have been copied, and `write` changes the file before the rest is copied.
class TearingSource : public ByteSource {
 public:
  TearingSource(Bytes bytes, size_t tear_at, std::function<void(Bytes*, int)> write)
      : bytes_(std::move(bytes)), tear_at_(tear_at), write_(std::move(write)) {}
  uint64_t Size() override { return bytes_.size(); }
  size_t Read(uint64_t offset, void* to, size_t size) override {
    if (offset >= tear_at_ || offset + size <= tear_at_) return Copy(offset, to, size);
    const size_t before = Copy(offset, to, tear_at_ - offset);
    write_(&bytes_, times_++);
    return before + Copy(tear_at_, static_cast<uint8_t*>(to) + before, size - before);
  }
  bool Changes() const override { return true; }

 private:
  size_t Copy(uint64_t offset, void* to, size_t size) {
    return MemorySource(bytes_).Read(offset, to, size);
  }

  Bytes bytes_;
  size_t tear_at_;
  std::function<void(Bytes*, int)> write_;
  int times_ = 0;
};

TEST(RingReader, RecordOverwrittenDuringTheCopyIsLost) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 4, 4);
  for (uint64_t i = 0; i < 4; ++i) builder.Append(0, builder.MakeRecord(Operation::kBarrier, i));
  const Bytes bytes = builder.Build();
  const size_t slot =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kRings)).offset;
  // The old lock has already been copied when record 4 is written over record 0.
  TearingSource source(bytes, slot + 8, [&](Bytes* file, int) {
    ring::Record next = RingFileBuilder::MakeRecord(Operation::kBcast, 4);
    next.lock = 2 * 4 + 2;
    PutAt(file, slot, next);
  });
  const RingSnapshot ring = ReadRing(source, "x.ring");
  EXPECT_THAT(ring.threads[0].calls[0].records, SizeIs(3));
  EXPECT_EQ(ring.threads[0].calls[0].lost, 1u);
  for (const RingRecord& record : ring.threads[0].calls[0].records) {
    EXPECT_EQ(record.record.operation, static_cast<uint16_t>(Operation::kBarrier));
  }
}

// An open barrier ends, and a receive is opened in its place. Both have the same lock by chance,
// since each ring counts from 0.
TEST(RingReader, OpenCallThatEndsDuringTheCopyIsDropped) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1);
  builder.Open(0, builder.Append(0, builder.MakeRecord(Operation::kBarrier, 5)));
  const Bytes bytes = builder.Build();
  const size_t thread =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kThreads)).offset;
  const auto write = [&](Bytes* file, int time) {
    const bool even = time % 2 == 0;
    ring::Record other =
        RingFileBuilder::MakeRecord(even ? Operation::kRecv : Operation::kBarrier, 6);
    other.lock = 2;
    PutAt(file, thread + offsetof(ring::ThreadEntry, open), other);
    PutAt(file, thread + offsetof(ring::ThreadEntry, calls_ended), uint64_t(time) + 1);
  };
  // In the middle of the record: the copy would have the beginning of one call and the end of
  // another.
  const size_t tear_at = thread + offsetof(ring::ThreadEntry, open) + 16;
  TearingSource moving(bytes, tear_at, write);
  RingSnapshot ring = ReadRing(moving, "x.ring");
  EXPECT_TRUE(ring.moved);
  EXPECT_THAT(ring.threads[0].open, IsEmpty());
  // If the writes stop, the reader succeeds in another attempt.
  TearingSource resting(bytes, tear_at, [&](Bytes* file, int time) {
    if (time < 4) write(file, time);
  });
  ring = ReadRing(resting, "x.ring");
  EXPECT_FALSE(ring.moved);
  ASSERT_THAT(ring.threads[0].open, SizeIs(1));
  EXPECT_EQ(ring.threads[0].open[0].start_ticks, 6u);
}

TEST(RingReader, TableEntryRewrittenDuringTheCopyIsDropped) {
  const RingFileBuilder builder = MakeFullRing();
  const Bytes bytes = builder.Build();
  const size_t request =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kOpenRequests)).offset;
  TearingSource source(bytes, request + 16, [&](Bytes* file, int time) {
    if (time > 2) return;
    auto entry = GetAt<ring::OpenRequest>(*file, request);
    entry.lock += 2;
    entry.uid += 100;
    PutAt(file, request, entry);
  });
  const RingSnapshot ring = ReadRing(source, "x.ring");
  EXPECT_THAT(ring.open_requests, IsEmpty());
  EXPECT_EQ(ring.unreadable, 1u);

  const size_t member =
      GetAt<ring::Section>(bytes, SectionAt(bytes, ring::SectionKind::kMembers)).offset;
  const size_t checkpoint = member + offsetof(ring::Member, recent);
  TearingSource rolling(bytes, checkpoint + 8, [&](Bytes* file, int) {
    auto entry = GetAt<ring::Checkpoint>(*file, checkpoint);
    ++entry.sequence;
    ++entry.semantic_hash;
    PutAt(file, checkpoint, entry);
  });
  const RingSnapshot rolled = ReadRing(rolling, "x.ring");
  ASSERT_THAT(rolled.members, SizeIs(2)) << "the communicator itself is whole";
  EXPECT_EQ(rolled.members[0].recent[0].sequence, 0u);
  EXPECT_EQ(rolled.members[0].history[0].sequence, 1u);
}

TEST(RingReader, PhaseWrittenDuringTheCopyIsDropped) {
  RingFileBuilder builder(0, 1);
  std::strcpy(builder.header.user_phase, "assembling the matrix");
  const Bytes bytes = builder.Build();
  EXPECT_STREQ(Read(bytes).header.user_phase, "assembling the matrix");
  const size_t text = offsetof(ring::FileHeader, user_phase);
  const auto write = [&](Bytes* file, int time) {
    PutAt(file, offsetof(ring::FileHeader, user_phase_lock), 2 * uint64_t(time) + 2);
    std::memcpy(file->data() + text, "solving it", 11);
  };
  TearingSource source(bytes, text + 4, write);
  EXPECT_STREQ(ReadRing(source, "x.ring").header.user_phase, "");
  // What was written before the copy is whole.
  TearingSource resting(bytes, text + 4, [&](Bytes* file, int time) {
    if (time == 0) write(file, time);
  });
  EXPECT_STREQ(ReadRing(resting, "x.ring").header.user_phase, "solving it");
  // Its process was killed while writing it.
  builder.header.user_phase_lock = 3;
  EXPECT_STREQ(Read(builder.Build()).header.user_phase, "");
}

// A file in memory that a thread writes to as the shim does (ring_format.md, "Writing").
class LiveRing {
 public:
  explicit LiveRing(const Bytes& bytes) : size_(bytes.size()) {
    fd_ = memfd_create("ring", MFD_CLOEXEC);
    EXPECT_EQ(write(fd_, bytes.data(), size_), static_cast<ssize_t>(size_));
    void* map = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    EXPECT_NE(map, MAP_FAILED);
    base_ = static_cast<uint8_t*>(map);
  }
  ~LiveRing() {
    munmap(base_, size_);
    close(fd_);
  }

  int fd() const { return fd_; }
  template <typename T>
  T* At(ring::SectionKind kind) {
    const auto* header = reinterpret_cast<ring::FileHeader*>(base_);
    for (const ring::Section& section : header->sections) {
      if (section.kind == static_cast<uint32_t>(kind)) {
        return reinterpret_cast<T*>(base_ + section.offset);
      }
    }
    return nullptr;
  }

 private:
  int fd_ = -1;
  size_t size_;
  uint8_t* base_ = nullptr;
};

void WriteWords(void* to, const ring::Record& record, uint64_t lock) {
  uint64_t words[sizeof(record) / 8];
  std::memcpy(words, &record, sizeof(record));
  auto* target = static_cast<uint64_t*>(to);
  __atomic_store_n(&target[0], lock - 1, __ATOMIC_RELAXED);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 1; i < std::size(words); ++i) {
    __atomic_store_n(&target[i], words[i], __ATOMIC_RELAXED);
  }
  __atomic_store_n(&target[0], lock, __ATOMIC_RELEASE);
}

// Every word is a function of the index, so that a mix of two records is detected.
ring::Record Payload(uint64_t index) {
  ring::Record record{};
  record.start_ticks = index * 3;
  record.operation = static_cast<uint16_t>(Operation::kBarrier);
  record.sequence = index + 1;
  record.semantic_hash = index * 5;
  record.send_count = index * 7;
  record.recv_count = index * 11;
  record.request = index * 13;
  record.detail = index * 17;
  record.detail2 = index * 19;
  return record;
}

void ExpectWhole(const ring::Record& record, uint64_t index) {
  ring::Record expected = Payload(index);
  expected.lock = 2 * index + 2;
  ASSERT_EQ(std::memcmp(&record, &expected, sizeof(record)), 0) << index;
}

TEST(RingReader, NeverReadsAWrongRecordOfALiveRing) {
  RingFileBuilder builder(0, 1);
  builder.AddThread(1, 64, 4);
  LiveRing live(builder.Build());
  auto* entry = live.At<ring::ThreadEntry>(ring::SectionKind::kThreads);
  auto* slots = live.At<ring::Record>(ring::SectionKind::kRings);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t index = 0; !stop.load(std::memory_order_relaxed); ++index) {
      const ring::Record record = Payload(index);
      WriteWords(&slots[index % 64], record, 2 * index + 2);
      __atomic_store_n(&entry->ring_head[0], index + 1, __ATOMIC_RELEASE);
      WriteWords(&entry->open[0].record, record, 2 * index + 2);
      __atomic_store_n(&entry->depth, uint64_t{1}, __ATOMIC_RELEASE);
      __atomic_store_n(&entry->open[0].record.lock, uint64_t{0}, __ATOMIC_RELEASE);
      __atomic_store_n(&entry->depth, uint64_t{0}, __ATOMIC_RELEASE);
      __atomic_store_n(&entry->calls_ended, index + 1, __ATOMIC_RELAXED);
    }
  });
  FileSource source(live.fd());
  uint64_t records = 0;
  uint64_t overtaken = 0;
  for (int round = 0; round < 3000 || records == 0 || overtaken == 0; ++round) {
    const RingSnapshot ring = ReadRing(source, "live");
    const RingCalls& calls = ring.threads.at(0).calls[0];
    EXPECT_EQ(calls.unreadable, 0u);
    for (const RingRecord& record : calls.records) ExpectWhole(record.record, record.index);
    for (const ring::Record& open : ring.threads[0].open) ExpectWhole(open, open.lock / 2 - 1);
    records += calls.records.size();
    if (calls.head > 64 && calls.lost > calls.head - 64) ++overtaken;
    if (HasFatalFailure()) break;
  }
  stop = true;
  writer.join();
  const RingSnapshot ring = ReadRing(source, "still");
  EXPECT_FALSE(ring.moved);
  EXPECT_THAT(ring.threads[0].calls[0].records, SizeIs(64));
}

}  // namespace
}  // namespace rollcall
