// SPDX-License-Identifier: Apache-2.0
// The recorder of one thread: its two rings and its calls in flight. Single writer, no lock.
#ifndef ROLLCALL_SHIM_THREAD_LOG_H_
#define ROLLCALL_SHIM_THREAD_LOG_H_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "proto/ring_format.h"
#include "shim/datatypes.h"
#include "shim/platform.h"
#include "shim/stack/arch.h"
#include "shim/stack/thread_stack.h"

namespace rollcall::shim {

struct Call;
struct Comm;

// Copies `record` into `slot` with the lock word `lock`. A concurrent reader can always detect a
// partly written record. Each of `copies` gets the record with the odd lock word, so that the
// caller can decide when it becomes valid.
template <typename Record, typename... Copies>
inline void PublishRecord(Record* slot, const Record& record, uint64_t lock, Copies*... copies) {
  const auto* bytes = reinterpret_cast<const char*>(&record);
  const auto store = [=](size_t i, uint64_t word) {
    StoreRelaxed(reinterpret_cast<uint64_t*>(slot) + i, word);
    (StoreRelaxed(reinterpret_cast<uint64_t*>(copies) + i, word), ...);
  };
  store(0, lock - 1);
  std::atomic_thread_fence(std::memory_order_release);
#pragma GCC unroll 16
  for (unsigned i = 1; i < sizeof(Record) / 8; ++i) {
    uint64_t word;
    memcpy(&word, bytes + size_t{8} * i, sizeof(word));
    store(i, word);
  }
  StoreRelease(reinterpret_cast<uint64_t*>(slot), lock);
}

// The writer's side of one ring. The protocol of a slot: ring_format.md, "Writing".
class RingWriter {
 public:
  void Attach(ring::Record* slots, uint64_t count, uint64_t* head) {
    slots_ = slots;
    mask_ = count - 1;
    head_word_ = head;
    head_ = LoadRelaxed(head);
  }
  bool attached() const { return slots_ != nullptr; }
  uint64_t head() const { return head_; }
  uint64_t slots() const { return mask_ + 1; }

  // Appends `record`, ignoring its lock word. Returns the lock value of the completed slot. The
  // record is written to `open`, too, if that is passed, and becomes valid there last.
  //
  // A signal handler that records a call (many call MPI_Abort) may interrupt Append at any point.
  // The handler must not write to the slot that is being written, and afterwards the head must be
  // past both records.
  template <typename... Open>
  uint64_t Append(const ring::Record& record, Open*... open) {
    const uint64_t index = LoadRelaxed(&head_);
    StoreRelaxed(&head_, index + 1);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const uint64_t lock = 2 * index + 2;
    PublishRecord(&slots_[index & mask_], record, lock, open...);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    StoreRelease(head_word_, LoadRelaxed(&head_));
    (StoreRelease(&open->lock, lock), ...);
    return lock;
  }

 private:
  ring::Record* slots_ = nullptr;
  uint64_t mask_ = 0;
  uint64_t head_ = 0;
  uint64_t* head_word_ = nullptr;
};

struct ThreadLog {
  ring::ThreadEntry* entry = nullptr;
  uint32_t index = 0;  // in the thread table
  uint16_t flags = 0;  // ring::RecordFlag that all its records have
  RingWriter rings[ring::kRingKinds];
  uint64_t last_end_ticks = 0;
  struct Level {
    ring::Record* open = nullptr;  // in `entry`
    Comm* comm = nullptr;          // counts the call in its in_flight; nullptr if none does
  };
  Level levels[ring::kMaxNesting];  // of open calls, by depth

  // The last operation of torch.distributed: its request and its call path.
  uint64_t c10d_request = 0;
  uint32_t c10d_path = 0;
  uint32_t c10d_context = 0;

  uint64_t poll_window_ticks = 0;  // when the current window of timed polls began
  uint64_t poll_inside_ticks = 0;  // time spent in polls since then, extrapolated from timed ones

  StackBounds stack;  // for the guard
  SideMemo sides[1 << kSideMemoBits];

  // Space for the request slots of a Waitall and the like. It is used as a stack, so that nested
  // calls do not overwrite each other's slots.
  uint32_t* scratch = nullptr;
  uint32_t scratch_used = 0;
  uint32_t scratch_size = 0;
};

// Describes the wrappers of a thread that are running. Each call saves the previous value and
// restores it at its end.
struct Nesting {
  CallerFrame guard;  // frame of the outermost wrapper that is running; no record if none
  const void* guard_caller;
  Call* outermost;     // the call that `guard` belongs to
  uint32_t depth;      // number of running wrappers; the other fields are valid if it is not 0
  uint16_t outer;      // operation of the innermost recorded call
  bool outer_is_pmpi;  // that call used the PMPI_ name
  bool passed_down;    // a PMPI tool has already forwarded that call to its PMPI_ name
};

// A thread's data in static TLS. It is small, because all preloaded libraries share 512 bytes.
// `writing` is not part of Nesting: a call inside another one copies Nesting right after `writing`
// is set, and a copy of several words that include `writing` would stall until that store has
// reached the cache.
struct ThreadBlock : Nesting {
  ThreadLog* log;       // nullptr until the first record; kNoLog if there is no room
  const void* writing;  // order() of the wrapper whose record is being written; nullptr if none
};
extern constinit thread_local ThreadBlock t_block
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Creates the calling thread's log, on first use; allocates and makes system calls. Returns kNoLog
// if there is no room for another thread (counted).
ROLLCALL_COLD ThreadLog* MakeLog();
extern ROLLCALL_HIDDEN ThreadLog kNoLogObject;
inline ThreadLog* const kNoLog = &kNoLogObject;  // stands for "no room"; never used
inline ThreadLog* CurrentLog() {
  ThreadLog* log = t_block.log;
  if (__builtin_expect(log == nullptr, 0)) log = MakeLog();
  return log == &kNoLogObject ? nullptr : log;
}

// Grows log->scratch to hold `more` further entries; nullptr if there is no memory.
uint32_t* TakeScratch(ThreadLog* log, uint32_t more);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_THREAD_LOG_H_
