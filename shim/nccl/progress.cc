// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/progress.h"

#include <atomic>

#include "shim/handle_map.h"
#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::nccl {
namespace {

std::atomic<uint64_t> g_launches{0};
constinit SpinLock g_lock;  // a new entry only

// Few events are in use at a time. If a program uses more than the table holds, some waits prove
// nothing. Progress is never overestimated.
constexpr uint32_t kEvents = 4096;
struct EventEntry {
  std::atomic<uint64_t> event;
  std::atomic<uint64_t> stream;
  std::atomic<uint64_t> launch;
};
constinit EventEntry g_events[kEvents] = {};

ring::GpuProgress* Table() {
  return g_process.Table<ring::GpuProgress>(ring::SectionKind::kGpuProgress);
}

uint32_t Used() {
  const ring::Section* section = g_process.Of(ring::SectionKind::kGpuProgress);
  const uint64_t used = LoadAcquire(&section->used);
  return static_cast<uint32_t>(used < section->capacity ? used : section->capacity);
}

bool Is(const ring::GpuProgress& entry, uint32_t uid, uint64_t stream) {
  return entry.member == uid && entry.stream == stream;
}

// False if the word is already higher.
bool Raise(uint64_t* word, uint64_t value) {
  uint64_t old = LoadRelaxed(word);
  while (old < value && !__atomic_compare_exchange_n(word, &old, value, true, __ATOMIC_RELEASE,
                                                     __ATOMIC_RELAXED)) {
  }
  return old <= value;
}

constexpr auto kNone = static_cast<uint32_t>(ring::CompletionSource::kNone);
constexpr auto kWaits = static_cast<uint32_t>(ring::CompletionSource::kWaits);
constexpr auto kMarks = static_cast<uint32_t>(ring::CompletionSource::kMarks);

void Complete(ring::GpuProgress* entry, uint64_t launch) {
  const uint64_t enqueued = LoadRelaxed(&entry->enqueued);
  if (LoadRelaxed(&entry->state) == kNone) StoreRelaxed(&entry->state, kWaits);
  Raise(&entry->completed, launch < enqueued ? launch : enqueued);
}

ROLLCALL_COLD uint32_t Make(uint32_t uid, uint64_t stream) {
  ring::Section* section = g_process.Of(ring::SectionKind::kGpuProgress);
  const SpinGuard guard(g_lock);
  const uint32_t used = Used();
  uint32_t made = kNoSlot;
  for (uint32_t i = 0; i < used; ++i) {  // another thread may have made it
    if (Is(Table()[i], uid, stream)) made = i;
  }
  if (made == kNoSlot && used < section->capacity) {
    made = used;
    Table()[made].stream = stream;
    StoreRelease(&Table()[made].member, uid);
    StoreRelease(&section->used, uint64_t{used} + 1);
  }
  if (made == kNoSlot) ++section->lost;
  return made;
}

}  // namespace

uint64_t NextLaunch() { return g_launches.fetch_add(1, std::memory_order_relaxed) + 1; }
uint64_t LastLaunch() { return g_launches.load(std::memory_order_relaxed); }

uint32_t SlotOf(Comm* comm, uint64_t stream) {
  const uint32_t cached = comm->gpu_slot;
  if (__builtin_expect(cached != kNoSlot && Is(Table()[cached], comm->uid, stream), 1))
    return cached;
  const uint32_t used = Used();
  for (uint32_t i = 0; i < used; ++i) {
    if (Is(Table()[i], comm->uid, stream)) return comm->gpu_slot = i;
  }
  return comm->gpu_slot = Make(comm->uid, stream);
}

const ring::GpuProgress& ProgressOf(uint32_t slot) { return Table()[slot]; }

bool MarkEnqueued(uint32_t slot, uint64_t launch) {
  return slot == kNoSlot || Raise(&Table()[slot].enqueued, launch);
}

void SetDeviceReports(uint32_t slot, bool reports) {
  uint32_t* state = &Table()[slot].state;
  if (reports) {
    StoreRelaxed(state, kMarks);
  } else if (LoadRelaxed(state) == kMarks) {
    StoreRelaxed(state, kWaits);
  }
}

void RaiseCompleted(uint32_t slot, uint64_t launch) { Raise(&Table()[slot].completed, launch); }

void MarkCompleted(uint32_t slot, uint64_t launch) { Complete(&Table()[slot], launch); }

void SetRunning(uint32_t slot, uint64_t launch) { StoreRelease(&Table()[slot].started, launch); }

void CompleteAll(uint32_t member) {
  const uint32_t used = Used();
  for (uint32_t i = 0; i < used; ++i) {
    if (Table()[i].member == member) {
      Complete(&Table()[i], LoadRelaxed(&Table()[i].enqueued));
    }
  }
}

bool AnythingEnqueued() { return Used() != 0; }

bool AnythingOutstanding() {
  if (LoadRelaxed(&g_process.header->calls_captured) != 0) return true;
  const uint32_t used = Used();
  for (uint32_t i = 0; i < used; ++i) {
    if (LoadRelaxed(&Table()[i].completed) < LoadRelaxed(&Table()[i].enqueued)) return true;
  }
  return false;
}

void MarkStreamComplete(uint64_t stream, uint64_t launch) {
  const uint32_t used = Used();
  for (uint32_t i = 0; i < used; ++i) {
    if (Table()[i].stream == stream) Complete(&Table()[i], launch);
  }
}

void MarkAllComplete(uint64_t launch) {
  const uint32_t used = Used();
  for (uint32_t i = 0; i < used; ++i) Complete(&Table()[i], launch);
}

// Two events that share a cell overwrite each other. A reader reads the cell's event before and
// after the other two words. If the event is the same, both words belong to this event, or to a
// later recording of the event; the latter happens only if the program has a race.
void StoreEvent(uint64_t event, const EventMark& mark) {
  if (event == 0) return;
  EventEntry& cell = g_events[Mix64(event, 0xe7) % kEvents];
  cell.event.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  cell.stream.store(mark.stream, std::memory_order_relaxed);
  cell.launch.store(mark.launch, std::memory_order_relaxed);
  cell.event.store(event, std::memory_order_release);
}

EventMark FindEvent(uint64_t event) {
  const EventEntry& cell = g_events[Mix64(event, 0xe7) % kEvents];
  if (event == 0 || cell.event.load(std::memory_order_acquire) != event) return {};
  const EventMark mark{cell.stream.load(std::memory_order_relaxed),
                       cell.launch.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  return cell.event.load(std::memory_order_relaxed) == event ? mark : EventMark{};
}

}  // namespace rollcall::shim::nccl
