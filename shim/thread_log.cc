// SPDX-License-Identifier: Apache-2.0
#include "shim/thread_log.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "shim/process.h"

namespace rollcall::shim {

constinit thread_local ThreadBlock t_block __attribute__((tls_model("initial-exec"))) = {};

constinit ThreadLog kNoLogObject;

namespace {

constexpr uint32_t kMaxThreads = 64;
constinit ThreadLog g_logs[kMaxThreads];
std::atomic<bool> g_first_taken{false};
std::atomic<uint32_t> g_ended{0};  // entries that may be reused because their thread has ended

pthread_key_t g_key;
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
bool g_key_made = false;

void OnThreadEnd(void* value) {
  auto* log = static_cast<ThreadLog*>(value);
  t_block.log = nullptr;
  if (!Recording()) return;
  StoreRelease(&log->entry->state, static_cast<uint32_t>(ring::ThreadState::kEnded));
  g_ended.fetch_add(1, std::memory_order_release);
}

void MakeKey() { g_key_made = pthread_key_create(&g_key, OnThreadEnd) == 0; }

uint64_t LargestPowerOfTwo(uint64_t value) {
  uint64_t power = 1;
  while (power * 2 <= value) power *= 2;
  return value == 0 ? 0 : power;
}

// Allocates the two rings of a thread. The first thread gets most of the pool: in most programs, no
// other thread calls MPI.
bool CutRings(ring::ThreadEntry* entry, bool first) {
  ring::Section* pool = g_process.Of(ring::SectionKind::kRings);
  const uint64_t wanted[ring::kRingKinds] = {
      LargestPowerOfTwo(first ? pool->capacity / 2 : pool->capacity / 64),
      LargestPowerOfTwo(first ? pool->capacity / 4 : pool->capacity / 64)};
  for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
    const uint64_t at = TakeFrom(pool, wanted[kind]);
    if (at >= pool->capacity || wanted[kind] == 0) return false;
    StoreRelaxed(&entry->ring_first[kind], at);
    StoreRelease(&entry->ring_slots[kind], wanted[kind]);
  }
  return true;
}

ring::ThreadEntry* ReuseEnded(uint32_t* index) {
  if (g_ended.load(std::memory_order_acquire) == 0) return nullptr;
  auto* table = g_process.Table<ring::ThreadEntry>(ring::SectionKind::kThreads);
  const uint64_t count = g_process.Of(ring::SectionKind::kThreads)->capacity;
  for (uint32_t i = 0; i < count && i < kMaxThreads; ++i) {
    uint32_t ended = static_cast<uint32_t>(ring::ThreadState::kEnded);
    if (__atomic_compare_exchange_n(&table[i].state, &ended,
                                    static_cast<uint32_t>(ring::ThreadState::kFree), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      g_ended.fetch_sub(1, std::memory_order_relaxed);
      if (table[i].ring_slots[0] == 0) continue;
      *index = i;
      return &table[i];
    }
  }
  return nullptr;
}

}  // namespace

ThreadLog* MakeLog() {
  const ErrnoGuard keeper;
  t_block.log = kNoLog;  // in case a signal handler calls MakeLog while it runs
  pthread_once(&g_key_once, MakeKey);
  const bool first = !g_first_taken.exchange(true);
  uint32_t index = 0;
  ring::ThreadEntry* entry = first ? nullptr : ReuseEnded(&index);
  const bool reused = entry != nullptr;
  if (!reused) {
    ring::Section* threads = g_process.Of(ring::SectionKind::kThreads);
    const uint64_t at = TakeFrom(threads, 1);
    if (at < threads->capacity && at < kMaxThreads) {
      index = static_cast<uint32_t>(at);
      entry = g_process.Table<ring::ThreadEntry>(ring::SectionKind::kThreads) + at;
      if (!CutRings(entry, first)) entry = nullptr;
    }
  }
  if (entry == nullptr) {
    __atomic_fetch_add(&g_process.header->threads_unrecorded, 1, __ATOMIC_RELAXED);
    return kNoLog;
  }
  ThreadLog* log = &g_logs[index];
  log->entry = entry;
  log->index = index;
  log->flags = first ? uint16_t{0} : uint16_t{ring::kNotMainThread};
  log->last_end_ticks = 0;
  log->scratch_used = 0;
  log->stack = FindStackBounds();
  StoreRelaxed(&entry->tid, static_cast<uint32_t>(syscall(SYS_gettid)));
  StoreRelaxed(&entry->flags, static_cast<uint64_t>(first ? 1 : 0));
  StoreRelaxed(&entry->polling.lock, uint64_t{0});
  if (reused) StoreRelaxed(&entry->incarnation, entry->incarnation + 1);
  StoreRelaxed(&entry->depth, uint64_t{0});
  StoreRelaxed(&entry->nccl_group, uint64_t{0});
  for (uint32_t level = 0; level < ring::kMaxNesting; ++level) {
    log->levels[level] = {.open = &entry->open[level].record};
    StoreRelaxed(&entry->open[level].record.lock, uint64_t{0});
  }
  prctl(PR_GET_NAME, entry->name);
  auto* pool = g_process.Table<ring::Record>(ring::SectionKind::kRings);
  for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
    log->rings[kind].Attach(pool + entry->ring_first[kind], entry->ring_slots[kind],
                            &entry->ring_head[kind]);
  }
  StoreRelease(&entry->state, static_cast<uint32_t>(ring::ThreadState::kLive));
  if (g_key_made) pthread_setspecific(g_key, log);
  t_block.log = log;
  return log;
}

uint32_t* TakeScratch(ThreadLog* log, uint32_t more) {
  if (log->scratch_used + more > log->scratch_size) {
    if (log->scratch_used != 0) return nullptr;  // outer calls have pointers into it
    const ErrnoGuard keeper;
    uint32_t size = 4096;
    while (size < more) size *= 2;
    void* block = mmap(nullptr, size * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
    if (log->scratch != nullptr) munmap(log->scratch, log->scratch_size * sizeof(uint32_t));
    log->scratch = static_cast<uint32_t*>(block);
    log->scratch_size = size;
  }
  uint32_t* place = log->scratch + log->scratch_used;
  log->scratch_used += more;
  return place;
}

}  // namespace rollcall::shim
