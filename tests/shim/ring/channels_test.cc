// SPDX-License-Identifier: Apache-2.0
// Counts messages into tables in memory. The code under test finds entries by maps that are never
// emptied, so all tests share the tables, and each uses communicators of its own.
#include "shim/channels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "proto/ring_format.h"
#include "shim/process.h"

namespace rollcall::shim {
namespace {

using ring::SectionKind;

constexpr uint64_t kChannels = 4096;
constexpr uint64_t kPeers = 4096;

struct Tables {
  ring::FileHeader header;
  ring::Channel channels[kChannels];
  ring::PeerCount peers[kPeers];
};
Tables g_tables = {};

// What a table has counted.
struct Count {
  uint64_t sent = 0;
  uint64_t received = 0;
  uint32_t flags = 0;
  uint32_t entries = 0;
  friend bool operator==(const Count&, const Count&) = default;
};

class ChannelsTest : public ::testing::Test {
 protected:
  ChannelsTest() {
    static uint32_t last_uid = 0;
    comm_.uid = ++last_uid;
    g_process.header = &g_tables.header;
    Place(SectionKind::kChannels, g_tables.channels, kChannels);
    Place(SectionKind::kPeerCounts, g_tables.peers, kPeers);
  }
  ~ChannelsTest() override { g_process.multiple_threads = true; }

  static ring::Section& SectionOf(SectionKind kind) {
    return g_tables.header.sections[static_cast<int>(kind)];
  }
  // From now on, the table has room for `room` further entries.
  static void LeaveRoom(SectionKind kind, uint64_t room) {
    ring::Section& section = SectionOf(kind);
    // A quarter of the channels is for any tag.
    const uint64_t wanted = section.used + room;
    section.capacity = kind == SectionKind::kChannels ? (wanted + 2) / 3 * 4 : wanted;
  }
  static void Fill(SectionKind kind) { SectionOf(kind).capacity = SectionOf(kind).used; }
  static uint64_t Lost(SectionKind kind) { return SectionOf(kind).lost; }

  Count SumOf(int32_t peer) const {
    Count count;
    for (uint64_t i = 0; i < SectionOf(SectionKind::kPeerCounts).used; ++i) {
      Add(g_tables.peers[i], peer, &count);
    }
    return count;
  }
  Count ChannelsOf(int32_t peer) const {
    Count count;
    for (uint64_t i = 0; i < SectionOf(SectionKind::kChannels).used; ++i) {
      Add(g_tables.channels[i], peer, &count);
    }
    return count;
  }

  Comm comm_;

 private:
  template <typename Entry>
  static void Place(SectionKind kind, Entry* table, uint64_t capacity) {
    ring::Section& section = SectionOf(kind);
    section.offset = static_cast<uint64_t>(reinterpret_cast<char*>(table) -
                                           reinterpret_cast<char*>(&g_tables.header));
    section.capacity = capacity;
    section.lost = 0;
    g_process.sections[static_cast<int>(kind)] = &section;
  }
  template <typename Entry>
  void Add(const Entry& entry, int32_t peer, Count* count) const {
    if (entry.member != comm_.uid || entry.peer != peer) return;
    count->sent += entry.sent;
    count->received += entry.received;
    count->flags |= entry.flags;
    ++count->entries;
  }
};

TEST_F(ChannelsTest, SumsCountAllTagsOfAPeer) {
  for (const bool several : {false, true}) {
    g_process.multiple_threads = several;
    for (int32_t tag = 0; tag < 10; ++tag) {
      for (int i = 0; i <= tag; ++i) CountSent(&comm_, 1, tag);
      CountReceived(&comm_, 1, tag);
      CountReceived(&comm_, 2, tag);
    }
  }
  EXPECT_EQ(SumOf(1), (Count{110, 20, 0, 1}));
  EXPECT_EQ(ChannelsOf(1), (Count{110, 20, 0, 10}));
  EXPECT_EQ(SumOf(2), (Count{0, 20, 0, 1}));
  EXPECT_EQ(CountSent(&comm_, 1, 9), 21u) << "the number on the channel, not that of the sum";
}

TEST_F(ChannelsTest, CommunicatorsHaveSumsOfTheirOwn) {
  Comm other = comm_;
  other.uid = 1'000'000;
  CountSent(&comm_, 1, 5);
  CountSent(&other, 1, 5);
  EXPECT_EQ(SumOf(1), (Count{1, 0, 0, 1}));
}

TEST_F(ChannelsTest, SumsStayExactWhenTagsRunOut) {
  constexpr int32_t kTags = 20'000;
  LeaveRoom(SectionKind::kChannels, 100);
  for (int32_t tag = 0; tag < kTags; ++tag) {
    CountSent(&comm_, 1, tag);
    CountReceived(&comm_, 2, tag);
  }
  EXPECT_EQ(SumOf(1), (Count{kTags, 0, 0, 1}));
  EXPECT_EQ(SumOf(2), (Count{0, kTags, 0, 1}));
  EXPECT_EQ(ChannelsOf(1).sent, uint64_t{kTags}) << "the others are counted under any tag";
  EXPECT_LE(ChannelsOf(1).entries, 102u);
  EXPECT_GT(Lost(SectionKind::kChannels), 0u);
  EXPECT_EQ(Lost(SectionKind::kPeerCounts), 0u);
}

TEST_F(ChannelsTest, SumsStayExactWithoutAnyChannel) {
  CountSent(&comm_, 1, 0);
  Fill(SectionKind::kChannels);
  for (int32_t tag = 1; tag < 500; ++tag) {
    EXPECT_EQ(CountSent(&comm_, 1, tag), 0u);
    EXPECT_EQ(CountSent(&comm_, 2, tag), 0u) << "a new peer";
    CountReceived(&comm_, 2, tag);
  }
  UncountSent(&comm_, 2, 7);
  MarkReceivesUnseen(&comm_, 1, 7);
  EXPECT_EQ(SumOf(1), (Count{500, 0, ring::kReceivesUnseen, 1}));
  EXPECT_EQ(SumOf(2), (Count{498, 499, 0, 1}));
  EXPECT_EQ(ChannelsOf(1), (Count{1, 0, 0, 1}));
  EXPECT_EQ(ChannelsOf(2), Count{});
}

TEST_F(ChannelsTest, FullTableOfSumsIsCounted) {
  CountSent(&comm_, 1, 0);
  Fill(SectionKind::kPeerCounts);
  CountSent(&comm_, 1, 1);
  EXPECT_EQ(Lost(SectionKind::kPeerCounts), 0u);
  CountSent(&comm_, 2, 1);
  CountReceived(&comm_, 2, 1);
  EXPECT_EQ(SumOf(1), (Count{2, 0, 0, 1}));
  EXPECT_EQ(SumOf(2), Count{});
  EXPECT_EQ(ChannelsOf(2), (Count{1, 1, 0, 1})) << "its channel is not affected";
  EXPECT_EQ(Lost(SectionKind::kPeerCounts), 1u);
  Fill(SectionKind::kChannels);
  CountSent(&comm_, 3, 1);
  EXPECT_EQ(Lost(SectionKind::kPeerCounts), 2u);
}

TEST_F(ChannelsTest, RejectedSendIsNotCounted) {
  CountSent(&comm_, 1, 5);
  CountSent(&comm_, 1, 5);
  UncountSent(&comm_, 1, 5);
  EXPECT_EQ(SumOf(1), (Count{1, 0, 0, 1}));
  EXPECT_EQ(ChannelsOf(1), (Count{1, 0, 0, 1}));
}

TEST_F(ChannelsTest, ReceivesWithoutASourceHaveASumOfTheirOwn) {
  CountReceived(&comm_, 1, 5);
  CountReceived(&comm_, ring::kAnySource, ring::kAnyTag);
  MarkReceivesUnseen(&comm_, ring::kAnySource, 5);
  EXPECT_EQ(SumOf(1), (Count{0, 1, 0, 1}));
  EXPECT_EQ(SumOf(ring::kAnySource), (Count{0, 1, ring::kReceivesUnseen, 1}));
}

TEST_F(ChannelsTest, MessagesToNobodyAreNotCounted) {
  CountSent(&comm_, ring::kProcNullPeer, 1);
  CountSent(nullptr, 1, 1);
  EXPECT_EQ(SumOf(ring::kProcNullPeer), Count{});
  EXPECT_EQ(SumOf(1), Count{});
}

// The threads meet at each new tag and at each new peer, with and without room for channels.
TEST_F(ChannelsTest, ThreadsCountEachMessageOnce) {
  constexpr int kThreads = 4;
  constexpr int32_t kPeersOfThreads = 50;
  constexpr int32_t kTags = 60;
  LeaveRoom(SectionKind::kChannels, 1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      for (int32_t peer = 0; peer < kPeersOfThreads; ++peer) {
        for (int32_t tag = 0; tag < kTags; ++tag) {
          CountSent(&comm_, peer, tag);
          CountReceived(&comm_, peer, tag);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr uint64_t kEach = uint64_t{kThreads} * kTags;
  for (int32_t peer = 0; peer < kPeersOfThreads; ++peer) {
    EXPECT_EQ(SumOf(peer), (Count{kEach, kEach, 0, 1})) << peer;
    EXPECT_EQ(ChannelsOf(peer).sent, kEach) << peer;
  }
}

}  // namespace
}  // namespace rollcall::shim
