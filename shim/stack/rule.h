// SPDX-License-Identifier: Apache-2.0
// The rule for one code address: how to find the caller's frame. A rule has eight bytes and is
// compared and stored as one word.
#ifndef ROLLCALL_SHIM_STACK_RULE_H_
#define ROLLCALL_SHIM_STACK_RULE_H_

#include <bit>
#include <cstdint>

#include "shim/stack/arch.h"

namespace rollcall::shim {

enum class RuleKind : uint8_t {
  kInvalid = 0,
  kSp = 1,           // CFA = sp + cfa
  kFp = 2,           // CFA = fp + cfa
  kFpIndirect = 3,   // CFA = *(fp + cfa): gcc's realigned frames; fp is saved at fp + 8 * fp_slot
  kSignalFrame = 4,  // CFA = *(sp + cfa), pc = *(sp + 8 * pc_slot), fp saved at sp + 8 * fp_slot
  kOutermost = 5,    // the return address is declared undefined
  kNoFde = 6,        // in a loaded module, but no FDE covers it
  kNoModule = 7,     // in no loaded module; looked up each time, as one may be loaded there later
  kUnsupported = 8,
};

// For kSp and kFp:
//   x86-64   The return address is at CFA - 8. fp is saved at CFA + 8 * fp_slot; fp_slot 0: not
//            saved.
//   AArch64  The return address and fp each have a slot. Negative: saved at CFA + 8 * slot.
//            Positive: saved at base + 8 * (slot - 1), where base is sp or fp. 0: still in the
//            register. Two forms are needed because a frame's local variables may be large and lie
//            on either side of the saved registers.
struct Rule {
  RuleKind kind : 8 = RuleKind::kInvalid;
  int32_t pc_slot : arch::kPcSlotBits = 0;
  int32_t fp_slot : 24 - arch::kPcSlotBits = 0;
  int32_t cfa : 32 = 0;

  bool operator==(const Rule&) const = default;
};
static_assert(sizeof(Rule) == sizeof(uint64_t));

inline uint64_t ToWord(Rule rule) { return std::bit_cast<uint64_t>(rule); }
inline Rule FromWord(uint64_t word) { return std::bit_cast<Rule>(word); }

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_RULE_H_
