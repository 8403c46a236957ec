// SPDX-License-Identifier: Apache-2.0
#include "shim/channels.h"

#include "shim/handle_map.h"
#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

constexpr uint32_t kMostChannels = 16384;
using ChannelMap = HandleMap<kMostChannels>;
using SumMap = HandleMap<kMostChannels / 2>;

constinit ChannelMap g_by_key;
constinit SumMap g_sums_by_key;
// By the index of a channel: the sum of its peer, nullptr if there was no room for it. Written
// before the channel can be found.
constinit ring::PeerCount* g_sum_of[kMostChannels];
constinit SpinLock g_lock;  // taken only for the first message of a channel or of a peer

// The counters of a message; nullptr: it is not counted there.
struct Counters {
  ring::PeerCount* sum = nullptr;
  ring::Channel* channel = nullptr;
};

ring::Channel* Table() { return g_process.Table<ring::Channel>(ring::SectionKind::kChannels); }

// With 64 bits, thousands of keys do not collide in practice. A look-up still compares the entry.
uint64_t KeyOf(uint32_t uid, int32_t peer, int32_t tag) {
  return Mix64(static_cast<uint64_t>(uid) << 32 | static_cast<uint32_t>(peer),
               static_cast<uint32_t>(tag)) >>
         2;
}
uint64_t SumKeyOf(uint32_t uid, int32_t peer) { return KeyOf(uid, peer, 0); }

bool Is(const ring::Channel& channel, uint32_t uid, int32_t peer, int32_t tag) {
  return channel.member == uid && channel.peer == peer && channel.tag == tag;
}

bool Is(const ring::PeerCount& sum, uint32_t uid, int32_t peer) {
  return sum.member == uid && sum.peer == peer;
}

ring::PeerCount* SumAt(uint32_t index) {
  return g_process.Table<ring::PeerCount>(ring::SectionKind::kPeerCounts) + index;
}

// Finds or creates the sum of a peer. The caller holds g_lock. nullptr if there is no room.
ROLLCALL_COLD ring::PeerCount* MakeSum(uint32_t uid, int32_t peer) {
  ring::Section* section = g_process.Of(ring::SectionKind::kPeerCounts);
  const uint64_t key = SumKeyOf(uid, peer);
  const uint32_t found = g_sums_by_key.Find(key);
  const auto used = static_cast<uint32_t>(LoadRelaxed(&section->used));
  if (found != SumMap::kMissing) {
    if (Is(*SumAt(found), uid, peer)) return SumAt(found);
  } else if (used < section->capacity) {
    ring::PeerCount* made = SumAt(used);
    made->peer = peer;
    StoreRelease(&made->member, uid);
    if (g_sums_by_key.Insert(key, used)) {
      StoreRelease(&section->used, uint64_t{used} + 1);
      return made;
    }
  }
  Increment(&section->lost);
  return nullptr;
}

// Finds the sum for a message that has no channel. nullptr if there is no room.
ROLLCALL_COLD ring::PeerCount* FindSum(uint32_t uid, int32_t peer) {
  const uint32_t found = g_sums_by_key.Find(SumKeyOf(uid, peer));
  if (found != SumMap::kMissing && Is(*SumAt(found), uid, peer)) return SumAt(found);
  ring::Section* section = g_process.Of(ring::SectionKind::kPeerCounts);
  if (LoadRelaxed(&section->used) >= section->capacity) {  // tested before the lock, as in Make
    Increment(&section->lost);
    return nullptr;
  }
  const SpinGuard guard(g_lock);
  return MakeSum(uid, peer);
}

// Returns the index; ChannelMap::kMissing if there is no room.
ROLLCALL_COLD uint32_t Make(uint32_t uid, int32_t peer, int32_t tag) {
  ring::Section* section = g_process.Of(ring::SectionKind::kChannels);
  // A quarter is kept for any-tag channels, which count the messages that have no channel.
  const uint64_t limit = tag == ring::kAnyTag ? section->capacity : section->capacity / 4 * 3;
  // Tested before the lock is taken: a program may use new tags for ever.
  if (LoadRelaxed(&section->used) >= limit) {
    Increment(&section->lost);
    return ChannelMap::kMissing;
  }
  const SpinGuard guard(g_lock);
  const uint64_t key = KeyOf(uid, peer, tag);
  const uint32_t found = g_by_key.Find(key);  // another thread may have made it
  const auto used = static_cast<uint32_t>(LoadRelaxed(&section->used));
  if (found != ChannelMap::kMissing) {
    if (Is(Table()[found], uid, peer, tag)) return found;
  } else if (used < limit && used < kMostChannels) {
    // The channel must be complete before another thread can find it.
    ring::Channel* made = &Table()[used];
    made->peer = peer;
    made->tag = tag;
    StoreRelease(&made->member, uid);
    g_sum_of[used] = MakeSum(uid, peer);
    if (g_by_key.Insert(key, used)) {
      StoreRelease(&section->used, uint64_t{used} + 1);
      return used;
    }
  }
  Increment(&section->lost);
  return ChannelMap::kMissing;
}

Counters CountersOf(uint32_t index) { return {g_sum_of[index], &Table()[index]}; }

// For a message that has no channel: makes one, or finds another place where the message is
// counted.
ROLLCALL_COLD Counters FindElsewhere(uint32_t uid, int32_t peer, int32_t tag) {
  uint32_t index = Make(uid, peer, tag);
  if (index == ChannelMap::kMissing && tag != ring::kAnyTag) {
    index = g_by_key.Find(KeyOf(uid, peer, ring::kAnyTag));
    if (index == ChannelMap::kMissing || !Is(Table()[index], uid, peer, ring::kAnyTag)) {
      index = Make(uid, peer, ring::kAnyTag);
    }
  }
  if (index == ChannelMap::kMissing) return {FindSum(uid, peer), nullptr};
  return CountersOf(index);
}

// Inlined, because the calls would cost more than the second counter does.
[[gnu::always_inline]] inline Counters Find(const Comm* comm, int32_t peer, int32_t tag) {
  if (comm == nullptr || peer == ring::kProcNullPeer) return {};
  const uint32_t index = g_by_key.Find(KeyOf(comm->uid, peer, tag));
  if (__builtin_expect(index == ChannelMap::kMissing, 0) ||
      __builtin_expect(!Is(Table()[index], comm->uid, peer, tag), 0)) {
    return FindElsewhere(comm->uid, peer, tag);
  }
  return CountersOf(index);
}

}  // namespace

uint64_t CountSent(const Comm* comm, int32_t peer, int32_t tag) {
  const auto [sum, channel] = Find(comm, peer, tag);
  if (sum != nullptr) Increment(&sum->sent);
  return channel == nullptr ? 0 : Increment(&channel->sent);
}

void UncountSent(const Comm* comm, int32_t peer, int32_t tag) {
  const auto [sum, channel] = Find(comm, peer, tag);
  if (channel != nullptr) __atomic_fetch_sub(&channel->sent, 1, __ATOMIC_RELAXED);
  if (sum != nullptr) __atomic_fetch_sub(&sum->sent, 1, __ATOMIC_RELAXED);
}

void CountReceived(const Comm* comm, int32_t peer, int32_t tag) {
  const auto [sum, channel] = Find(comm, peer, tag);
  if (sum != nullptr) Increment(&sum->received);
  if (channel != nullptr) Increment(&channel->received);
}

void MarkReceivesUnseen(const Comm* comm, int32_t peer, int32_t tag) {
  const auto [sum, channel] = Find(comm, peer, tag);
  const auto unseen = static_cast<uint32_t>(ring::kReceivesUnseen);
  if (sum != nullptr) __atomic_fetch_or(&sum->flags, unseen, __ATOMIC_RELAXED);
  if (channel != nullptr) __atomic_fetch_or(&channel->flags, unseen, __ATOMIC_RELAXED);
}

}  // namespace rollcall::shim
