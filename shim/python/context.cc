// SPDX-License-Identifier: Apache-2.0
#include "shim/python/context.h"

#include <sys/mman.h>

#include <atomic>

#include "shim/call_paths.h"
#include "shim/process.h"
#include "shim/python/interpreter.h"
#include "shim/spin_lock.h"
#include "shim/thread_log.h"

namespace rollcall::shim::python {
namespace {

using rollcall::python::kNone;
using rollcall::python::Layout;

// In ticks. A tick is a nanosecond or about a third of a nanosecond.
constexpr uint64_t kShortestPause = uint64_t{1} << 21;
constexpr uint64_t kLongestTrust = uint64_t{1} << 24;

// The last result. Only the holder of `busy` may use the other fields.
struct Last {
  SpinLock busy;
  CopiedMemory::Buffers* buffers = nullptr;
  uint64_t frame = 0;
  uint64_t instruction = 0;
  uint64_t ticks = 0;
  uint32_t path = 0;
};
constinit Last g_last;

// Stores the call path of the thread's open call, from the ring. False if the thread has no open
// call.
bool FindOpenCall(uint32_t tid, uint32_t* path) {
  const ring::Section* section = g_process.Of(ring::SectionKind::kThreads);
  const auto* table = g_process.Table<ring::ThreadEntry>(ring::SectionKind::kThreads);
  uint64_t count = LoadAcquire(&section->used);
  if (count > section->capacity) count = section->capacity;
  for (uint64_t i = 0; i < count; ++i) {
    if (LoadRelaxed(&table[i].tid) != tid) continue;
    const uint64_t depth = LoadAcquire(&table[i].depth);
    if (depth == 0 || depth > ring::kMaxNesting) return false;
    const ring::Record& open = table[i].open[depth - 1].record;
    const uint64_t lock = LoadAcquire(&open.lock);
    *path = LoadRelaxed(&open.call_path);
    std::atomic_thread_fence(std::memory_order_acquire);
    return lock != 0 && (lock & 1) == 0 && LoadRelaxed(&open.lock) == lock;
  }
  return false;
}

// Finds the main thread's innermost frame. The thread state lives as long as the interpreter, and a
// _PyCFrame is on the thread's C stack, so both can be read in place.
bool FindFrame(const Layout& layout, uint64_t* frame) {
  OwnMemory memory;
  const uint64_t state = g_interpreter.main_thread_state.load(std::memory_order_relaxed);
  const unsigned char* at = memory.At(state + layout.thread_frame, 8, Slot::kFrame);
  if (at == nullptr) return false;
  *frame = LoadRelaxed(reinterpret_cast<const uint64_t*>(at));
  if (layout.cframe_frame == kNone) return *frame != 0;
  at = (*frame & 7) != 0 ? nullptr : memory.At(*frame + layout.cframe_frame, 8, Slot::kFrame);
  if (at == nullptr) return false;
  *frame = LoadRelaxed(reinterpret_cast<const uint64_t*>(at));
  return *frame != 0;
}

uint32_t ReadPath(uint64_t frame) {
  const Shape& shape = g_interpreter.shape;
  CopiedMemory memory(g_last.buffers);
  Stack first, second;
  Walk(shape, memory, frame, &first);
  if (first.depth == 0) return 0;
  uint64_t frame_now = 0;
  if (!FindFrame(shape.layout, &frame_now) || frame_now != frame) return 0;
  Walk(shape, memory, frame, &second);
  if (second.hash != first.hash) return 0;
  return InternPythonPath(memory, second);
}

uint32_t FindPath() {
  const Shape& shape = g_interpreter.shape;
  Last& last = g_last;
  if (last.buffers == nullptr) {
    void* memory = mmap(nullptr, sizeof(CopiedMemory::Buffers), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    last.buffers = static_cast<CopiedMemory::Buffers*>(memory);
  }
  uint64_t frame = 0;
  if (!FindFrame(shape.layout, &frame)) return 0;
  CopiedMemory memory(last.buffers);
  const unsigned char* at = memory.At(frame, shape.frame_bytes, Slot::kFrame);
  if (at == nullptr) return 0;
  const uint64_t instruction = shape.layout.lasti_bytes != 0
                                   ? Load<uint32_t>(at + shape.layout.frame_instruction)
                                   : Load<uint64_t>(at + shape.layout.frame_instruction);
  const uint64_t now = Ticks();
  const bool same = frame == last.frame && instruction == last.instruction;
  if (same && now - last.ticks < kLongestTrust) return last.path;
  if (!same && now - last.ticks < kShortestPause) return 0;
  last.frame = frame;
  last.instruction = instruction;
  last.ticks = now;
  last.path = ReadPath(frame);
  return last.path;
}

}  // namespace

uint32_t MainThreadPath() {
  const ErrnoGuard keeper;
  const uint32_t tid = g_interpreter.main_tid.load(std::memory_order_acquire);
  if (tid == 0 || t_block.log == nullptr || t_block.log == kNoLog) return 0;
  if (LoadRelaxed(&t_block.log->entry->tid) == tid) return 0;
  uint32_t path = 0;
  if (FindOpenCall(tid, &path)) return path;
  if (IsFinalizing() || !g_last.busy.TryLock()) return 0;
  path = FindPath();
  g_last.busy.Unlock();
  return path;
}

}  // namespace rollcall::shim::python
