// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/rule_cache.h"

#include <sys/mman.h>

namespace rollcall::shim {

bool RuleCache::Init() {
  const size_t size = (kEntries + kWindow) * sizeof(Entry);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  entries_ = static_cast<Entry*>(memory);  // zero bytes are valid empty entries
  return true;
}

void RuleCache::Insert(uint64_t pc, uint64_t generation, Rule rule) {
  const uint64_t key = generation | pc;
  for (uint64_t way = 0; way < kWindow; ++way) {
    Entry& entry = entries_[Slot(pc) + way];
    uint64_t old = entry.key.load(std::memory_order_acquire);
    if (old == key) return;  // another thread was first
    if (old == kBusy || (old & kGenerationMask) == generation) continue;
    if (this->generation() != generation) return;
    if (!entry.key.compare_exchange_strong(old, kBusy, std::memory_order_acq_rel)) {
      if (old == key) return;
      continue;
    }
    // Release, so that a reader that loads this rule instead of an older one also sees that the old
    // key is gone.
    entry.rule.store(ToWord(rule), std::memory_order_release);
    entry.key.store(key, std::memory_order_release);
    // The module may have been unloaded while its tables were read. The entry may become empty,
    // which ends a look-up: all entries of this generation are invalid.
    if (this->generation() != generation) {
      uint64_t mine = key;
      entry.key.compare_exchange_strong(mine, 0, std::memory_order_acq_rel);
    }
    return;
  }
  Clear();
}

void RuleCache::Clear() {
  uint64_t old = generation_.load(std::memory_order_relaxed);
  uint64_t next;
  do {
    next = old + kOneGeneration;
    if (next == 0) {  // all generations were used: old keys would become valid again
      for (uint64_t i = 0; entries_ != nullptr && i < kEntries + kWindow; ++i) {
        // An entry that is being written belongs to its writer, which frees the entry when it sees
        // that the generation is over. If the entry were freed here, two threads could write it at
        // once.
        uint64_t key = entries_[i].key.load(std::memory_order_acquire);
        if (key != kBusy) {
          entries_[i].key.compare_exchange_strong(key, 0, std::memory_order_acq_rel);
        }
      }
      next = kOneGeneration;
    }
  } while (!generation_.compare_exchange_weak(old, next, std::memory_order_acq_rel));
}

}  // namespace rollcall::shim
