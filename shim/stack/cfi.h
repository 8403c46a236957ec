// SPDX-License-Identifier: Apache-2.0
// Reads one rule from a module's .eh_frame, as specified in the Linux Standard Base (Core,
// "Exception Frames": .eh_frame, .eh_frame_hdr, pointer encodings) and DWARF 5, 6.4 (call frame
// instructions).
//
// Every read is checked against the module's loaded segments, so that a damaged table gives
// kUnsupported or kNoFde, not a fault. CFI that a Rule cannot express also gives kUnsupported.
#ifndef ROLLCALL_SHIM_STACK_CFI_H_
#define ROLLCALL_SHIM_STACK_CFI_H_

#include <cstdint>

#include "shim/stack/rule.h"

namespace rollcall::shim {

// A readable, file-backed segment of a loaded module. In the shim, `bytes` is `begin` as a pointer;
// in a test, it may point to a copy.
struct Segment {
  uint64_t begin = 0;  // addresses in the process
  uint64_t end = 0;
  const uint8_t* bytes = nullptr;
};

struct ModuleImage {
  static constexpr int kMaxSegments = 16;  // linkers make four or five
  Segment segments[kMaxSegments];
  int count = 0;
  uint64_t eh_frame_hdr = 0;  // address of PT_GNU_EH_FRAME; 0: none
};

// Returns the rule for the instruction at pc. For a return address, pass the address minus one.
// Allocates nothing; async-signal-safe as long as the module stays loaded.
Rule RuleFromTables(const ModuleImage& module, uint64_t pc);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_CFI_H_
