// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/ring_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <set>
#include <vector>

#include "collector/base/file.h"
#include "collector/import/ring_reader.h"
#include "tests/support/ring_file_builder.h"

namespace rollcall::agent {
namespace {

using Bytes = RingFileBuilder::Bytes;
using ::testing::ElementsAre;
using ::testing::SizeIs;

UniqueFd FileOf(const Bytes& bytes) {
  UniqueFd fd(memfd_create("ring", MFD_CLOEXEC));
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) abort();
  return fd;
}

// Returns a ring with entries in every table; some are free, incomplete or damaged.
RingFileBuilder MakeRandomRing(std::mt19937_64* random) {
  const auto below = [random](uint64_t limit) { return (*random)() % limit; };
  RingFileBuilder ring = MakeFullRing();
  ring.header.phase = below(5);
  for (uint64_t i = below(5); i > 0; --i) {
    ring::ThreadEntry& thread = ring.threads[ring.AddThread(static_cast<uint32_t>(200 + i))];
    thread.state = static_cast<uint32_t>(below(5));  // from 3 on: damage
    thread.ring_head[0] = below(1000);
    thread.ring_head[1] = below(1000);
    thread.calls_ended = below(1000);
    thread.polls = below(1000);
    thread.depth = below(3);
    thread.open[0].record.lock = below(4);
    thread.open[0].record.operation = static_cast<uint16_t>(Operation::kBarrier);
  }
  for (uint64_t i = below(4); i > 0; --i) {
    ring::Mark mark{};
    mark.lock = below(4);
    mark.member = static_cast<uint32_t>(below(3));
    mark.number = static_cast<uint32_t>(below(100));
    mark.written = static_cast<uint32_t>(below(100));
    ring.marks.push_back(mark);
  }
  for (uint64_t i = below(4); i > 0; --i) {
    ring::GpuProgress progress{};
    progress.member = static_cast<uint32_t>(below(3));
    progress.started = below(100);
    progress.completed = below(100);
    ring.gpu.push_back(progress);
  }
  return ring;
}

// Damages the list of sections or the length of the file.
void Damage(std::mt19937_64* random, Bytes* bytes) {
  const auto below = [random](uint64_t limit) { return (*random)() % limit; };
  const size_t section = offsetof(ring::FileHeader, sections) + below(12) * sizeof(ring::Section);
  switch (below(6)) {
    case 0:
      bytes->resize(sizeof(ring::FileHeader) + below(bytes->size() - sizeof(ring::FileHeader)));
      break;
    case 1:
      PutAt(bytes, section + offsetof(ring::Section, used), below(1000));
      break;
    case 2:
      PutAt(bytes, section + offsetof(ring::Section, offset), 64 * below(200));
      break;
    case 3:
      PutAt(bytes, section + offsetof(ring::Section, element_bytes),
            static_cast<uint32_t>(below(2000)));
      break;
    case 4:
      PutAt(bytes, section + offsetof(ring::Section, kind), static_cast<uint32_t>(below(14)));
      break;
    default:
      break;  // none
  }
}

TEST(RingSampler, CountsTheSameActivityAsTheReader) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same rings in every run
  std::set<uint64_t> figures;
  for (int run = 0; run < 2000; ++run) {
    Bytes bytes = MakeRandomRing(&random).Build();
    Damage(&random, &bytes);
    RingSampler sampler(FileOf(bytes));
    RingSample sample;
    ASSERT_TRUE(sampler.Sample(&sample)) << run << ": " << sampler.problem();
    FileSource live(sampler.fd());
    MemorySource copy(bytes);
    ASSERT_EQ(sample.activity, ReadRing(live, "x.ring").activity) << run;
    ASSERT_EQ(sample.activity, ReadRing(copy, "x.ring", ImageDepth::kState).activity) << run;
    figures.insert(sample.activity);
  }
  EXPECT_GT(figures.size(), 1000u) << "the rings differ too little to prove anything";
}

TEST(RingSampler, EveryKindOfProgressIsActivity) {
  RingFileBuilder ring = MakeFullRing();
  ring.marks.emplace_back();
  const auto activity = [&ring] {
    RingSampler sampler(FileOf(ring.Build()));
    RingSample sample;
    EXPECT_TRUE(sampler.Sample(&sample)) << sampler.problem();
    return sample.activity;
  };
  uint64_t last = activity();
  ring.threads[0].polls += 1000;
  EXPECT_EQ(activity(), last);
  ++ring.threads[0].ring_head[1];
  EXPECT_EQ(activity(), ++last);
  ++ring.threads[0].calls_ended;
  EXPECT_EQ(activity(), ++last);
  ++ring.marks[0].written;
  EXPECT_EQ(activity(), ++last);
  ++ring.gpu[0].started;
  EXPECT_EQ(activity(), ++last);
  ++ring.header.phase;
  EXPECT_EQ(activity(), ++last);
}

TEST(RingSampler, ReportsTheOutermostCallInFlight) {
  RingSampler sampler(FileOf(MakeFullRing().Build()));
  RingSample sample;
  ASSERT_TRUE(sampler.Sample(&sample)) << sampler.problem();
  EXPECT_THAT(sample.callers, ElementsAre(100u));
  ASSERT_THAT(sample.blocked, SizeIs(1));
  EXPECT_EQ(sample.blocked[0].operation, static_cast<uint16_t>(Operation::kBarrier));
  EXPECT_EQ(sample.blocked[0].key, 0xfeedu);
  EXPECT_EQ(sample.blocked[0].sequence, 4u);
}

TEST(RingSampler, NamesCommunicators) {
  RingFileBuilder ring(0, 8);
  const auto add = [&ring](uint64_t key, uint32_t flags, std::string_view name) {
    ring.AddMember(key, 0, 8, flags);
    ring.members.back().name = name.empty() ? 0 : ring.AddString(name);
  };
  add(1, ring::kIsWorld, "of the user");
  add(2, 0, "grid\nof rows");
  add(3, 0, "");
  add(4, ring::kIsC10d, "default_pg");
  add(5, ring::kIsC10d, "0123456789abcdef");
  add(6, ring::kIsC10d, "127.0.0.1:29500");
  ring.members.back().creating_operation = static_cast<uint16_t>(Operation::kC10dRendezvous);
  ring.AddMember(7, 0, 8);
  ring.members.back().name = 0xffffff;  // damage: outside the strings
  RingSampler sampler(FileOf(ring.Build()));
  RingSample sample;
  ASSERT_TRUE(sampler.Sample(&sample)) << sampler.problem();
  std::vector<std::string> names;
  for (const MemberSample& member : sample.members) names.push_back(member.name);
  EXPECT_THAT(names, ElementsAre("MPI_COMM_WORLD", "grid\uFFFDof rows", "", "default_pg",
                                 "group 0123456789ab", "the store", ""));
}

TEST(RingSampler, CallThatIsLeavingItsSlotDoesNotBlock) {
  RingFileBuilder ring = MakeFullRing();
  ring.threads[0].open[0].record.lock = 0;
  RingSampler sampler(FileOf(ring.Build()));
  RingSample sample;
  ASSERT_TRUE(sampler.Sample(&sample)) << sampler.problem();
  EXPECT_THAT(sample.blocked, SizeIs(0));
}

// The shim sets since_ticks to 0 after a successful poll. If the thread has never returned from
// another call, last_end_ticks is 0 too, so a comparison of the two cannot show the success.
TEST(RingSampler, ThreadWhoseLastPollSucceededIsNotPolling) {
  RingFileBuilder ring(0, 1);
  ring.AddThread(1);
  ring.threads[0].last_end_ticks = 0;
  ring.threads[0].polling.lock = 2;
  const auto polls = [&ring] {
    const Bytes bytes = ring.Build();
    RingSampler sampler(FileOf(bytes));
    RingSample sample;
    EXPECT_TRUE(sampler.Sample(&sample)) << sampler.problem();
    return sample.polling.size();
  };
  ring.threads[0].polling.since_ticks = 150;
  EXPECT_EQ(polls(), 1u);
  ring.threads[0].polling.since_ticks = 0;
  EXPECT_EQ(polls(), 0u);
}

TEST(RingSampler, RefusesFilesThatAreNotRings) {
  RingSample sample;
  RingSampler empty(FileOf({}));
  EXPECT_FALSE(empty.Sample(&sample));
  EXPECT_EQ(empty.problem(), "shorter than a ring's header");
  RingSampler other(FileOf(Bytes(8192, 'x')));
  EXPECT_FALSE(other.Sample(&sample));
  EXPECT_EQ(other.problem(), "not a rollcall ring");
}

}  // namespace
}  // namespace rollcall::agent
