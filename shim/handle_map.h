// SPDX-License-Identifier: Apache-2.0
// Maps an MPI handle (a word) to a small number, for all threads, without a lock.
//
// Open addressing with a bounded window: no entry is ever moved, and a look-up reads at most
// kWindow cells. If the window of an entry is full, the entry is not stored; the caller counts the
// loss.
//
// Thread safety: any thread may call Insert, Find and Erase, also in a signal handler. If two
// threads insert the same key at once, the map has two cells with the key, and Find returns one of
// them. This does not happen with MPI handles, because a handle is created once. Memory: the owner
// provides zeroed cells.
#ifndef ROLLCALL_SHIM_HANDLE_MAP_H_
#define ROLLCALL_SHIM_HANDLE_MAP_H_

#include <atomic>
#include <cstdint>

namespace rollcall::shim {

template <uint32_t kCells>
class HandleMap {
  static_assert((kCells & (kCells - 1)) == 0);

 public:
  static constexpr uint32_t kMissing = 0xffffffff;

  // False if there was no room. An existing entry gets the new value.
  bool Insert(uint64_t key, uint32_t value) {
    if (!IsKey(key)) return false;
    const uint32_t home = Home(key);
    uint32_t free_cell = kMissing;
    for (uint32_t i = 0; i < kWindow; ++i) {
      const uint32_t cell = (home + i) & (kCells - 1);
      const uint64_t found = cells_[cell].key.load(std::memory_order_acquire);
      if (found == key) {
        cells_[cell].value.store(value, std::memory_order_release);
        return true;
      }
      if (free_cell == kMissing && (found == kEmpty || found == kErased)) free_cell = cell;
      if (found == kEmpty) break;
    }
    for (uint32_t i = 0; free_cell != kMissing && i < kWindow; ++i) {
      uint64_t found = cells_[free_cell].key.load(std::memory_order_relaxed);
      if ((found == kEmpty || found == kErased) &&
          cells_[free_cell].key.compare_exchange_strong(found, kBusy, std::memory_order_acquire)) {
        cells_[free_cell].value.store(value, std::memory_order_relaxed);
        cells_[free_cell].key.store(key, std::memory_order_release);
        return true;
      }
      free_cell = (free_cell + 1) & (kCells - 1);  // another thread took it
      if (((free_cell - home) & (kCells - 1)) >= kWindow) return false;
    }
    return false;
  }

  uint32_t Find(uint64_t key) const {
    // Most entries are in the first cell of their window.
    uint32_t cell = Home(key);
    const uint64_t found = cells_[cell].key.load(std::memory_order_acquire);
    if (__builtin_expect(found != key || !IsKey(key), 0)) cell = Locate(key);
    return cell == kMissing ? kMissing : cells_[cell].value.load(std::memory_order_acquire);
  }

  // Returns the stored value, kMissing if there was none.
  uint32_t Erase(uint64_t key) {
    const uint32_t cell = Locate(key);
    if (cell == kMissing) return kMissing;
    const uint32_t value = cells_[cell].value.load(std::memory_order_acquire);
    uint64_t expected = key;
    if (!cells_[cell].key.compare_exchange_strong(expected, kErased, std::memory_order_acq_rel)) {
      return kMissing;
    }
    return value;
  }

  // Erases an entry, and makes erased cells empty again if that shortens look-ups. Call it only
  // while no other thread inserts.
  void EraseAndCompact(uint64_t key) {
    uint32_t cell = Locate(key);
    if (cell == kMissing) return;
    cells_[cell].key.store(kErased, std::memory_order_relaxed);
    if (cells_[(cell + 1) & (kCells - 1)].key.load(std::memory_order_relaxed) != kEmpty) return;
    while (cells_[cell].key.load(std::memory_order_relaxed) == kErased) {
      cells_[cell].key.store(kEmpty, std::memory_order_relaxed);
      cell = (cell - 1) & (kCells - 1);
    }
  }

 private:
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kErased = ~uint64_t{0};
  static constexpr uint64_t kBusy = ~uint64_t{1};
  static constexpr uint32_t kWindow = kCells < 64 ? kCells : 64;

  struct Cell {
    std::atomic<uint64_t> key;
    std::atomic<uint32_t> value;
  };

  static uint32_t Home(uint64_t key) {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15) >> 40) & (kCells - 1);
  }

  static bool IsKey(uint64_t key) { return key - 1 < kBusy - 1; }

  [[gnu::noinline]] uint32_t Locate(uint64_t key) const {
    if (!IsKey(key)) return kMissing;
    const uint32_t home = Home(key);
    for (uint32_t i = 0; i < kWindow; ++i) {
      const uint32_t cell = (home + i) & (kCells - 1);
      const uint64_t found = cells_[cell].key.load(std::memory_order_acquire);
      if (found == key) return cell;
      if (found == kEmpty) return kMissing;
    }
    return kMissing;
  }

  Cell cells_[kCells];
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_HANDLE_MAP_H_
