#include "shim/channels.h"

#include "shim/handle_map.h"
#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

constinit HandleMap<16384> g_by_key;
constinit SpinLock g_lock;  // taken only for a channel's first message

ring::Channel* Table() { return g_process.Table<ring::Channel>(ring::SectionKind::kChannels); }

uint64_t KeyOf(uint32_t uid, int32_t peer, int32_t tag) {
  // With 64 bits, thousands of channels do not collide in practice; Find still compares them.
  return Mix64(static_cast<uint64_t>(uid) << 32 | static_cast<uint32_t>(peer),
               static_cast<uint32_t>(tag)) >>
         2;
}

bool Is(const ring::Channel& channel, uint32_t uid, int32_t peer, int32_t tag) {
  return channel.member == uid && channel.peer == peer && channel.tag == tag;
}

ROLLCALL_COLD ring::Channel* Make(uint32_t uid, int32_t peer, int32_t tag) {
  ring::Section* section = g_process.Of(ring::SectionKind::kChannels);
  // A quarter is kept for any-tag channels, which count the messages when the table is full.
  const uint64_t limit = tag == ring::kAnyTag ? section->capacity : section->capacity / 4 * 3;
  if (LoadRelaxed(&section->used) >=
      limit) {  // before the lock: a program may use new tags for ever
    Increment(&section->lost);
    return nullptr;
  }
  const SpinGuard guard(g_lock);
  ring::Channel* made = nullptr;
  const uint64_t key = KeyOf(uid, peer, tag);
  const uint32_t found = g_by_key.Find(key);  // another thread may have made it
  const uint64_t used = LoadRelaxed(&section->used);
  if (found < section->capacity) {
    if (Is(Table()[found], uid, peer, tag)) made = &Table()[found];
  } else if (used < limit && g_by_key.Insert(key, static_cast<uint32_t>(used))) {
    made = &Table()[used];
    made->peer = peer;
    made->tag = tag;
    StoreRelease(&made->member, uid);
    StoreRelease(&section->used, used + 1);
  }
  if (made == nullptr) Increment(&section->lost);
  return made;
}

ring::Channel* FindExact(uint32_t uid, int32_t peer, int32_t tag) {
  const uint32_t index = g_by_key.Find(KeyOf(uid, peer, tag));
  if (index == HandleMap<16384>::kMissing) return Make(uid, peer, tag);
  ring::Channel* channel = &Table()[index];
  return Is(*channel, uid, peer, tag) ? channel : nullptr;
}

ring::Channel* Find(const Comm* comm, int32_t peer, int32_t tag) {
  if (comm == nullptr || peer == ring::kProcNullPeer) return nullptr;
  ring::Channel* channel = FindExact(comm->uid, peer, tag);
  if (__builtin_expect(channel == nullptr && tag != ring::kAnyTag, 0)) {
    channel = FindExact(comm->uid, peer, ring::kAnyTag);
  }
  return channel;
}

}  // namespace

uint64_t CountSent(const Comm* comm, int32_t peer, int32_t tag) {
  ring::Channel* channel = Find(comm, peer, tag);
  return channel == nullptr ? 0 : Increment(&channel->sent);
}

void UncountSent(const Comm* comm, int32_t peer, int32_t tag) {
  if (ring::Channel* channel = Find(comm, peer, tag))
    __atomic_fetch_sub(&channel->sent, 1, __ATOMIC_RELAXED);
}

void CountReceived(const Comm* comm, int32_t peer, int32_t tag) {
  if (ring::Channel* channel = Find(comm, peer, tag)) Increment(&channel->received);
}

void MarkReceivesUnseen(const Comm* comm, int32_t peer, int32_t tag) {
  if (ring::Channel* channel = Find(comm, peer, tag)) {
    __atomic_fetch_or(&channel->flags, static_cast<uint32_t>(ring::kReceivesUnseen),
                      __ATOMIC_RELAXED);
  }
}

}  // namespace rollcall::shim
