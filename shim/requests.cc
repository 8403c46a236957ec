// SPDX-License-Identifier: Apache-2.0
#include "shim/requests.h"

#include <atomic>

#include "proto/operations.h"
#include "shim/channels.h"
#include "shim/data/call_data.h"
#include "shim/handle_map.h"
#include "shim/process.h"
#include "shim/thread_log.h"

namespace rollcall::shim {
namespace {

// Properties of a request that do not change during its life.
struct Origin {
  Library* library;
  Comm* comm;
  uint32_t comm_uid;  // to detect that another communicator has reused the entry `comm`
  uint16_t operation;
  uint32_t call_path;  // of the call that created it
  uint64_t sequence;   // of the call that created it
  RequestKind kind;

  Comm* LiveComm() const { return comm != nullptr && comm->uid == comm_uid ? comm : nullptr; }
};

// The part of a table entry that is not in the ring.
struct Private {
  Origin origin;
  bool cancelled;
  std::atomic<uint32_t> next_free;
};
constinit Private g_private[kMaxRequests] = {};
constinit HandleMap<32768> g_by_handle;
std::atomic<uint64_t> g_next_uid{1};
// Free list: slot + 1 in the lower half, a counter against ABA in the upper one.
std::atomic<uint64_t> g_free{0};
std::atomic<uint32_t> g_fresh{0};  // the first slot that was never used
// Handles that were found to be shared by complete requests. Used only for libraries whose shared
// handles are not known in advance (Library::IsPrecompleted).
constexpr uint32_t kShared = 8;
std::atomic<uint64_t> g_shared[kShared];

ring::OpenRequest* Table() {
  return g_process.Table<ring::OpenRequest>(ring::SectionKind::kOpenRequests);
}

bool IsShared(uint64_t key) {
  for (const auto& shared : g_shared) {
    const uint64_t known = shared.load(std::memory_order_relaxed);
    if (known == key) return true;
    if (known == 0) return false;
  }
  return false;
}

void MarkShared(uint64_t key) {
  for (auto& shared : g_shared) {
    uint64_t expected = 0;
    if (shared.compare_exchange_strong(expected, key) || expected == key) return;
  }
}

uint32_t TakeSlot() {
  uint64_t head = g_free.load(std::memory_order_acquire);
  while ((head & 0xffffffff) != 0) {
    const auto slot = static_cast<uint32_t>(head & 0xffffffff) - 1;
    const uint64_t next =
        g_private[slot].next_free.load(std::memory_order_relaxed) | ((head >> 32) + 1) << 32;
    if (g_free.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return slot;
  }
  ring::Section* section = g_process.Of(ring::SectionKind::kOpenRequests);
  const uint32_t limit =
      section->capacity < kMaxRequests ? static_cast<uint32_t>(section->capacity) : kMaxRequests;
  uint32_t fresh = g_fresh.load(std::memory_order_relaxed);
  while (fresh < limit) {
    if (g_fresh.compare_exchange_weak(fresh, fresh + 1)) {
      // Other threads may already use later slots, so a reader checks `state` and not only `used`.
      __atomic_fetch_add(&section->used, 1, __ATOMIC_RELEASE);
      return fresh;
    }
  }
  __atomic_fetch_add(&section->lost, 1, __ATOMIC_RELAXED);
  return kNoRequest;
}

void ReturnSlot(uint32_t slot) {
  uint64_t head = g_free.load(std::memory_order_relaxed);
  for (;;) {
    g_private[slot].next_free.store(static_cast<uint32_t>(head & 0xffffffff),
                                    std::memory_order_relaxed);
    const uint64_t next = (slot + 1) | ((head >> 32) + 1) << 32;
    if (g_free.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return;
  }
}

void SetState(ring::OpenRequest* entry, ring::RequestState state) {
  StoreRelease(&entry->state, static_cast<uint32_t>(state));
}

void Leave(uint32_t slot) {
  StoreRelaxed(&Table()[slot].waiter, 0u);
  SetState(&Table()[slot], ring::RequestState::kFree);
  ReturnSlot(slot);
}

// Counts a completed receive. The source and tag of a wildcard receive are in its status.
void CountReceive(const Origin& origin, const Completion& completion, bool cancelled) {
  const Library& library = *origin.library;
  const RequestKind& kind = origin.kind;
  const Comm* comm = origin.LiveComm();
  if (kind.peer == ring::kProcNullPeer) return;
  if (completion.failed) return MarkReceivesUnseen(comm, kind.peer, kind.tag);
  if (cancelled) {
    int gone = 0;
    if (completion.status == nullptr || library.query.Test_cancelled == nullptr ||
        library.query.Test_cancelled(completion.status, &gone) != 0) {
      return MarkReceivesUnseen(comm, kind.peer, kind.tag);
    }
    if (gone != 0) return;
  }
  int32_t peer = kind.peer, tag = kind.tag;
  if (completion.status != nullptr) {
    if (peer == ring::kAnySource) peer = library.StatusSource(completion.status);
    if (tag == ring::kAnyTag) tag = library.StatusTag(completion.status);
  }
  CountReceived(comm, peer, tag);
}

// Updates the counters after a request has completed. `slot` is kNoRequest if the request was
// complete at once.
void Finish(uint32_t slot, const Origin& origin, const Completion& completion, bool cancelled) {
  Comm* comm = origin.LiveComm();
  const bool message = origin.kind.sends || origin.kind.receives;
  if (comm != nullptr && !message && IsCollective(FindOperation(origin.operation).kind)) {
    // A persistent collective's init was counted when it returned.
    if (!origin.kind.persistent) Increment(&comm->entry->completed);
    if (__builtin_expect(g_process.data, 0) && slot != kNoRequest) {
      data::CompleteRequest(slot, completion.failed);
    }
  }
  if (origin.kind.receives) CountReceive(origin, completion, cancelled);
  if (origin.kind.new_comm != nullptr && !completion.failed) {
    // Comm_idup: the communicator exists from here on.
    RegisterComm(origin.library, origin.library->Load(origin.kind.new_comm),
                 {.operation = static_cast<Operation>(origin.operation),
                  .parent = comm,
                  .parent_sequence = origin.sequence,
                  .call_path = origin.call_path});
  }
}

}  // namespace

bool IsCompleteAtOnce(const Library& library, uint64_t handle) {
  return library.IsPrecompleted(handle) || IsShared(library.KeyOf(handle));
}

uint64_t NextRequestUid() {
  if (g_process.multiple_threads) return g_next_uid.fetch_add(1, std::memory_order_relaxed);
  const uint64_t uid = g_next_uid.load(std::memory_order_relaxed);
  g_next_uid.store(uid + 1, std::memory_order_relaxed);
  return uid;
}

uint32_t AddRequest(Library* library, uint64_t handle, const ring::Record& record, Comm* comm,
                    const RequestKind& kind) {
  if (handle == library->abi.request_null) return kNoRequest;
  const Origin origin{
      library,         comm, comm != nullptr ? comm->uid : 0, record.operation, record.call_path,
      record.sequence, kind};
  const uint64_t key = library->KeyOf(handle);
  const bool shared = library->IsPrecompleted(handle) || IsShared(key);
  if (shared && !kind.persistent) {
    Finish(kNoRequest, origin, {}, false);
    return kNoRequest;
  }
  if (const uint32_t known = g_by_handle.Find(key); known < kMaxRequests) {
    // The library returned this handle again, although the completion of its request was not seen.
    // Either that request is complete, or the handle is shared.
    g_by_handle.Erase(key);
    if (library->abi.flavor == ring::Flavor::kMpiStandardAbi) MarkShared(key);
    g_private[known].origin.kind.persistent = false;
    CompleteRequest(known, {.failed = true});
  }
  const uint32_t slot = TakeSlot();
  if (slot == kNoRequest) return kNoRequest;
  Private& mine = g_private[slot];
  mine.origin = origin;
  mine.cancelled = false;
  ring::OpenRequest* entry = &Table()[slot];
  ChangeUnderLock(&entry->lock, [&] {
    StoreRelaxed(&entry->uid, record.request);
    StoreRelaxed(&entry->waiter, 0u);
    StoreRelaxed(&entry->starts, uint64_t{0});
    PublishRecord(&entry->record, record, 2);
    StoreRelaxed(&entry->state,
                 static_cast<uint32_t>(kind.persistent ? ring::RequestState::kInactive
                                                       : ring::RequestState::kActive));
  });
  if (!g_by_handle.Insert(key, slot)) {
    __atomic_fetch_add(&g_process.Of(ring::SectionKind::kOpenRequests)->lost, 1, __ATOMIC_RELAXED);
    Leave(slot);
    return kNoRequest;
  }
  return slot;
}

uint32_t FindRequest(const Library& library, uint64_t handle) {
  return g_by_handle.Find(library.KeyOf(handle));
}

uint32_t DetachRequest(const Library& library, uint64_t handle) {
  const uint64_t key = library.KeyOf(handle);
  if (g_process.multiple_threads) return g_by_handle.Erase(key);
  const uint32_t slot = g_by_handle.Find(key);
  if (slot < kMaxRequests) g_by_handle.EraseAndCompact(key);
  return slot;
}

void AttachRequest(const Library& library, uint64_t handle, uint32_t slot) {
  g_by_handle.Insert(library.KeyOf(handle), slot);
}

void CompleteRequest(uint32_t slot, const Completion& completion) {
  Private& mine = g_private[slot];
  ring::OpenRequest* entry = &Table()[slot];
  // A Wait on a persistent request that was not started returns at once and completes nothing.
  if (LoadRelaxed(&entry->state) != static_cast<uint32_t>(ring::RequestState::kInactive)) {
    Finish(slot, mine.origin, completion, mine.cancelled);
  }
  mine.cancelled = false;
  if (mine.origin.kind.persistent) {
    StoreRelaxed(&entry->waiter, 0u);
    SetState(entry, ring::RequestState::kInactive);
  } else {
    Leave(slot);
  }
}

void MarkRequestDone(uint32_t slot) {
  ring::OpenRequest* entry = &Table()[slot];
  if (LoadRelaxed(&entry->state) == static_cast<uint32_t>(ring::RequestState::kActive)) {
    SetState(entry, ring::RequestState::kDone);
  }
}

void DropRequest(uint32_t slot) {
  const Origin& origin = g_private[slot].origin;
  const uint32_t state = LoadRelaxed(&Table()[slot].state);
  if (state == static_cast<uint32_t>(ring::RequestState::kActive) && origin.kind.receives) {
    MarkReceivesUnseen(origin.LiveComm(), origin.kind.peer, origin.kind.tag);
  }
  Leave(slot);
}

uint64_t StartRequest(uint32_t slot, const ring::Record& record) {
  ring::OpenRequest* entry = &Table()[slot];
  const Origin& origin = g_private[slot].origin;
  ChangeUnderLock(&entry->lock, [&] {
    StoreRelaxed(&entry->starts, entry->starts + 1);
    StoreRelaxed(&entry->record.start_ticks, record.start_ticks);
    StoreRelaxed(&entry->record.call_path, record.call_path);
    StoreRelaxed(&entry->record.flags,
                 static_cast<uint16_t>(entry->record.flags & ~ring::kCancelled));
    // For a partitioned send, keep the number of partitions and reset the number of marked ones.
    StoreRelaxed(&entry->record.detail2, entry->record.detail2 & 0xffffffff);
    StoreRelaxed(&entry->state, static_cast<uint32_t>(ring::RequestState::kActive));
  });
  if (origin.kind.sends) {
    CountSent(origin.LiveComm(), entry->record.root_or_peer, entry->record.tag);
  }
  if (!IsCollective(FindOperation(origin.operation).kind)) return 0;
  if (__builtin_expect(g_process.data, 0)) data::StartRequest(slot, entry->starts, record);
  return origin.sequence << 32 | (entry->starts & 0xffffffff);
}

void MarkPartitions(uint32_t slot, uint32_t count) {
  if (g_private[slot].origin.operation != static_cast<uint16_t>(Operation::kPsend_init)) return;
  __atomic_fetch_add(&Table()[slot].record.detail2, uint64_t{count} << 32, __ATOMIC_RELAXED);
}

void MarkRequestCancelled(uint32_t slot) {
  g_private[slot].cancelled = true;
  ring::Record* record = &Table()[slot].record;
  __atomic_fetch_or(&record->flags, static_cast<uint16_t>(ring::kCancelled), __ATOMIC_RELAXED);
}

void SetWaiter(uint32_t slot, uint32_t thread_plus_one) {
  StoreRelaxed(&Table()[slot].waiter, thread_plus_one);
}

const ring::OpenRequest& RequestAt(uint32_t slot) { return Table()[slot]; }

Comm* CommOfRequest(uint32_t slot) { return g_private[slot].origin.LiveComm(); }

bool IsPersistent(uint32_t slot) { return g_private[slot].origin.kind.persistent; }

bool NeedsStatus(uint32_t slot) {
  const Private& mine = g_private[slot];
  const RequestKind& kind = mine.origin.kind;
  return kind.receives &&
         (mine.cancelled || kind.peer == ring::kAnySource || kind.tag == ring::kAnyTag);
}

}  // namespace rollcall::shim
