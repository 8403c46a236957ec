// SPDX-License-Identifier: Apache-2.0
// Maps addresses to rules, for all threads, without a lock: a table of fixed size in anonymous
// memory.
//
// An entry is two words, {key, rule}. key = generation << kPcBits | address; 0: empty; 1: being
// written. Within one generation, an entry is written once and never evicted. A new generation
// frees all entries at once. It begins with Clear(), and when a window of kWindow entries is full.
// After 2^(64 - kPcBits) generations the table is zeroed.
//
// A reader loads key, rule, and key again. If both keys are the wanted one, the rule belongs to the
// key: a key leaves its entry only when its generation is over, and does not return.
#ifndef ROLLCALL_SHIM_STACK_RULE_CACHE_H_
#define ROLLCALL_SHIM_STACK_RULE_CACHE_H_

#include <atomic>
#include <cstdint>

#include "shim/stack/arch.h"
#include "shim/stack/rule.h"

namespace rollcall::shim {

class RuleCache {
 public:
  static constexpr uint64_t kEntries = 16384;
  static constexpr uint64_t kWindow = 8;

  // Maps the table. Call once, before any other thread uses the cache. False: no memory.
  bool Init();

  // The current generation, shifted to its position in keys; pass it to Find and Insert.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Returns a rule of kind kInvalid if `pc` is not in the table. `pc` is at least 2 and below
  // 2^kPcBits.
  Rule Find(uint64_t pc, uint64_t generation) const {
    const uint64_t want = generation | pc;
    for (uint64_t way = 0; way < kWindow; ++way) {
      const Entry& entry = entries_[Slot(pc) + way];
      const uint64_t key = entry.key.load(std::memory_order_acquire);
      if (key == want) [[likely]] {
        const uint64_t rule = entry.rule.load(std::memory_order_acquire);
        if (entry.key.load(std::memory_order_relaxed) == want) [[likely]]
          return FromWord(rule);
        return {};
      }
      if (key != kBusy && (key & kGenerationMask) != generation) return {};
    }
    return {};
  }

  // Stores a rule found while `generation` was current; drops it if that generation is over.
  void Insert(uint64_t pc, uint64_t generation, Rule rule);

  // Makes all entries free.
  void Clear();

 private:
  struct Entry {
    std::atomic<uint64_t> key;
    std::atomic<uint64_t> rule;
  };
  static constexpr uint64_t kBusy = 1;
  static constexpr uint64_t kOneGeneration = uint64_t{1} << arch::kPcBits;
  static constexpr uint64_t kGenerationMask = ~(kOneGeneration - 1);

  // Call sites of one module differ in the low bits, modules in higher bits.
  static uint64_t Slot(uint64_t pc) { return (pc ^ (pc >> 14)) & (kEntries - 1); }

  Entry* entries_ = nullptr;  // kEntries + kWindow: a window never wraps round
  std::atomic<uint64_t> generation_{kOneGeneration};
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_RULE_CACHE_H_
