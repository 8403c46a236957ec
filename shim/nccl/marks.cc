// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/marks.h"

#include <atomic>
#include <cstddef>

#include "shim/comms.h"
#include "shim/nccl/driver.h"
#include "shim/nccl/progress.h"
#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::nccl {
namespace {

enum class State : uint8_t { kNotReady, kOn, kOff };
constinit std::atomic<State> g_state{State::kNotReady};

// Written once, before g_state is kOn.
uint64_t g_address = 0;  // device address of the first cell
void* g_context = nullptr;

// Held while a mark is made: protects the variables below.
constinit SpinLock g_busy;
constexpr uint32_t kGroups = kMarkCells / kMarksPerStream;
uint32_t g_next[kGroups] = {};  // the cell of each group where the search starts
uint32_t g_slot_of_cell[kMarkCells] = {};
uint32_t g_number = 0;

ring::Mark* Cells() { return g_process.Table<ring::Mark>(ring::SectionKind::kMarks); }

bool IsOutstanding(const ring::Mark& cell) {
  return __atomic_load_n(&cell.written, __ATOMIC_ACQUIRE) != cell.number;
}

// While an object exists, no driver call of this thread invalidates a capture of any thread.
class RelaxedCaptureMode {
 public:
  RelaxedCaptureMode() { g_driver.exchange_capture_mode(&mode_); }
  ~RelaxedCaptureMode() { g_driver.exchange_capture_mode(&mode_); }
  RelaxedCaptureMode(const RelaxedCaptureMode&) = delete;
  RelaxedCaptureMode& operator=(const RelaxedCaptureMode&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; after the exchange, the previous mode
};

// Registers the pages with the driver. Returns the reason of a failure, nullptr on success.
const char* Register() {
  constexpr unsigned kPortable = 1, kDeviceMap = 2;  // CU_MEMHOSTREGISTER_…
  if (!g_driver_found.load(std::memory_order_acquire) || !g_driver.complete()) {
    return "the CUDA driver is not loaded, or too old";
  }
  if (HasSeveralDevices()) return "the process drives several devices";
  if (AnythingEnqueued()) return "work was enqueued before";
  if (g_driver.current_context(&g_context) != 0 || g_context == nullptr) return "no context";
  const RelaxedCaptureMode relaxed;
  if (g_driver.register_memory(Cells(), kMarkCells * sizeof(ring::Mark), kPortable | kDeviceMap) !=
      0) {
    return "the driver does not register the ring's pages";
  }
  if (g_driver.device_address(&g_address, Cells(), 0) != 0) return "the device does not see them";
  return nullptr;
}

// Finds a free cell in the slot's group of cells; kMarkCells if there is none. Because of the
// groups, a stream that does not progress cannot use up the cells of all other streams.
uint32_t FindCell(uint32_t slot) {
  constexpr uint32_t kTries = 4;
  const uint32_t group = slot % kGroups;
  for (uint32_t i = 0; i < kTries; ++i) {
    const uint32_t cell = group * kMarksPerStream + (g_next[group] + i) % kMarksPerStream;
    if (IsOutstanding(Cells()[cell])) continue;
    g_next[group] = (g_next[group] + i + 1) % kMarksPerStream;
    return cell;
  }
  return kMarkCells;
}

void SetCell(uint32_t index, uint32_t slot, uint64_t launch) {
  ring::Mark* cell = &Cells()[index];
  // Save the progress that the old mark proves before the cell is reused.
  if (cell->member != 0) RaiseCompleted(g_slot_of_cell[index], cell->launch);
  g_slot_of_cell[index] = slot;
  const ring::GpuProgress& entry = ProgressOf(slot);
  StoreRelaxed(&cell->lock, cell->lock + 1);
  std::atomic_thread_fence(std::memory_order_release);
  StoreRelaxed(&cell->launch, launch);
  StoreRelaxed(&cell->stream, entry.stream);
  StoreRelaxed(&cell->member, entry.member);
  StoreRelaxed(&cell->number, ++g_number);
  StoreRelease(&cell->lock, cell->lock + 1);
}

void ClearCell(uint32_t index) {
  ring::Mark* cell = &Cells()[index];
  StoreRelaxed(&cell->lock, cell->lock + 1);
  std::atomic_thread_fence(std::memory_order_release);
  StoreRelaxed(&cell->member, 0u);
  StoreRelease(&cell->lock, cell->lock + 1);
}

bool IsOurContext(void* stream) {
  void* current = nullptr;
  void* of_stream = nullptr;
  return g_driver.current_context(&current) == 0 && current == g_context &&
         g_driver.context_of(stream, &of_stream) == 0 && of_stream == g_context;
}

bool Write(uint32_t slot, uint64_t launch) {
  const uint64_t handle = ProgressOf(slot).stream;
  void* stream = reinterpret_cast<void*>(handle);
  if (!IsOurContext(stream)) {
    StopMarks("a second context is in use");
    return false;
  }
  const uint32_t cell = FindCell(slot);
  if (cell == kMarkCells) return false;
  SetCell(cell, slot, launch);
  const uint64_t address = g_address + cell * sizeof(ring::Mark) + offsetof(ring::Mark, written);
  const RelaxedCaptureMode relaxed;
  if (g_driver.write_value(stream, address, g_number, 0) == 0) return true;
  ClearCell(cell);
  StopMarks("the driver refused one");
  return false;
}

// Launches were enqueued out of order. A mark after launch 8 does not prove that launch 7 is
// complete if launch 7 was enqueued after that mark.
void DropMarksOf(uint32_t slot) {
  StopMarks("launches overtake each other");
  for (uint32_t i = 0; i < kMarkCells; ++i) {
    if (Cells()[i].member != 0 && g_slot_of_cell[i] == slot) ClearCell(i);
  }
}

// True if the device will report the completion of this launch.
bool MakeMark(uint32_t slot, uint64_t launch) {
  if (HasSeveralDevices()) {
    StopMarks("the process drives several devices");
    return false;
  }
  const uint64_t stream = ProgressOf(slot).stream;
  if (ring::IsDefaultStream(stream) || IsCaptured(stream)) return false;
  if (!g_busy.TryLock()) return false;
  const bool made = Write(slot, launch);
  g_busy.Unlock();
  return made;
}

}  // namespace

void PrepareDevice() {
  if (!g_process.gpu) return;
  FindDriver();
  if (!g_process.marks || g_state.load(std::memory_order_acquire) != State::kNotReady) return;
  if (!g_busy.TryLock()) return;
  if (const char* problem = Register()) {
    StopMarks(problem);
  } else {
    g_state.store(State::kOn, std::memory_order_release);
  }
  g_busy.Unlock();
}

void Launched(uint32_t slot, uint64_t launch) {
  if (slot == kNoSlot) return;
  const bool in_order = MarkEnqueued(slot, launch);
  if (g_state.load(std::memory_order_acquire) != State::kOn) return SetDeviceReports(slot, false);
  if (!in_order) DropMarksOf(slot);
  SetDeviceReports(slot, in_order && MakeMark(slot, launch));
}

void ClearMarks(uint32_t member) {
  if (g_state.load(std::memory_order_acquire) == State::kNotReady) return;
  for (uint32_t i = 0; i < kMarkCells; ++i) {
    // Safe without g_busy: outstanding cells are not reused.
    if (Cells()[i].member == member && IsOutstanding(Cells()[i])) ClearCell(i);
  }
}

void StopMarks(const char* why) {
  if (!g_process.marks || g_state.exchange(State::kOff, std::memory_order_acq_rel) == State::kOff) {
    return;
  }
  PrintLine("no further completion marks", why);
}

}  // namespace rollcall::shim::nccl
