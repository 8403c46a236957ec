// Reads one rule from a module's .eh_frame, as specified in the Linux Standard Base (Core,
// "Exception Frames": .eh_frame, .eh_frame_hdr, pointer encodings) and DWARF 5, 6.4 (call frame
// instructions).
//
// Every read is checked against the module's loaded segments, so that a damaged table gives
// kUnsupported or kNoFde, not a fault. Rules that a Rule cannot express give the same.
#ifndef ROLLCALL_SHIM_STACK_CFI_H_
#define ROLLCALL_SHIM_STACK_CFI_H_

#include <cstdint>

#include "shim/stack/rule.h"

namespace rollcall::shim {

// The readable, file-backed bytes of a loaded module. In the shim `bytes` is `begin` as a pointer;
// a test may point it at a copy.
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

// The rule for the instruction at pc (for a return address: the address minus one). Allocates
// nothing; async-signal-safe as long as the module stays loaded.
Rule RuleFromTables(const ModuleImage& module, uint64_t pc);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_CFI_H_
