// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/kernels.h"

#include <atomic>

#include "shim/nccl/progress.h"

namespace rollcall::shim::nccl::kernels {
namespace {

// The state word: number << 24 | channels << 16 | started << 8 | stopped. All fields that change
// are in one word, so that an event is never counted for a later collective that has taken the
// cell.
constexpr unsigned kNumberShift = 24, kChannelShift = 16, kStartedShift = 8;
constexpr uint64_t kCountMask = 0xff;

struct Cell {
  std::atomic<uint64_t> state;
  std::atomic<uint64_t> launch;
  std::atomic<uint32_t> slot;
  std::atomic<bool> alone;
};
constexpr uint32_t kCells = 1024;
constinit Cell g_cells[kCells] = {};
std::atomic<uint64_t> g_numbers{0};

Cell& CellOf(uint64_t number) { return g_cells[number % kCells]; }
uint64_t NumberIn(uint64_t state) { return state >> kNumberShift; }
uint64_t ChannelsIn(uint64_t state) { return state >> kChannelShift & kCountMask; }
uint64_t StartedIn(uint64_t state) { return state >> kStartedShift & kCountMask; }
uint64_t StoppedIn(uint64_t state) { return state & kCountMask; }

// Adds `one` to the state of this number and stores the new state in *now; false if not tracked.
bool Count(uint64_t number, uint64_t one, uint64_t* now) {
  std::atomic<uint64_t>& state = CellOf(number).state;
  uint64_t old = state.load(std::memory_order_acquire);
  do {
    if (NumberIn(old) != number) return false;
  } while (!state.compare_exchange_weak(old, old + one, std::memory_order_acq_rel));
  *now = old + one;
  return true;
}

}  // namespace

uint64_t Add(const Collective& collective) {
  const uint64_t number = g_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  Cell& cell = CellOf(number);
  cell.state.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  cell.launch.store(collective.launch, std::memory_order_relaxed);
  cell.slot.store(collective.slot, std::memory_order_relaxed);
  cell.alone.store(collective.alone, std::memory_order_relaxed);
  cell.state.store(number << kNumberShift | (collective.channels & kCountMask) << kChannelShift,
                   std::memory_order_release);
  return number;
}

bool SetChannels(uint64_t number, uint32_t channels) {
  uint64_t untouched = number << kNumberShift;
  return CellOf(number).state.compare_exchange_strong(
      untouched, number << kNumberShift | (channels & kCountMask) << kChannelShift,
      std::memory_order_acq_rel);
}

bool ChannelStarted(uint64_t number) {
  const Cell& cell = CellOf(number);
  const uint32_t slot = cell.slot.load(std::memory_order_relaxed);
  const uint64_t launch = cell.launch.load(std::memory_order_relaxed);
  uint64_t now = 0;
  if (!Count(number, uint64_t{1} << kStartedShift, &now)) return false;
  if (slot != kNoSlot) SetRunning(slot, launch);
  return true;
}

void ChannelStopped(uint64_t number) {
  const Cell& cell = CellOf(number);
  const uint32_t slot = cell.slot.load(std::memory_order_relaxed);
  const uint64_t launch = cell.launch.load(std::memory_order_relaxed);
  const bool alone = cell.alone.load(std::memory_order_relaxed);
  uint64_t now = 0;
  if (!Count(number, 1, &now) || slot == kNoSlot || StoppedIn(now) != StartedIn(now)) return;
  SetRunning(slot, 0);
  // The work of one launch is one kernel, or several kernels in stream order. If other operations
  // belong to the launch, only the launches before it are known to be complete.
  if (StoppedIn(now) == ChannelsIn(now)) MarkCompleted(slot, alone ? launch : launch - 1);
}

}  // namespace rollcall::shim::nccl::kernels
