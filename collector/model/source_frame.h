// SPDX-License-Identifier: Apache-2.0
// The source location of a code address. Plain data: the trace model and the reports include this
// header without depending on libdw.
#ifndef ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_
#define ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_

#include <cstdint>
#include <string>

namespace rollcall {

// A place in a module that stays valid after the process has ended: an ELF virtual address instead
// of a runtime address, and the build id, which proves that a file on disk is the file that ran.
struct CodeAddress {
  std::string module_path;  // as mapped by the process; empty: in no module (JIT code)
  // lower-case hex; empty: not recorded, so a file on disk cannot be verified
  std::string build_id;
  uint64_t vaddr = 0;  // runtime address - load bias
  // A return address points after its call, to a place that may be in another line or even another
  // function. So the byte before the return address is looked up. False for the interrupted pc of a
  // live thread.
  bool is_return_address = false;

  bool operator==(const CodeAddress&) const = default;
};

// How much is known about a frame, best first.
enum class FrameDetail : uint8_t {
  kSourceLine = 0,  // from debug information; `line` may be 0 if the compiler gave none
  kSymbol = 1,      // from an ELF symbol table: `function` and `symbol_offset`
  kModule = 2,      // `module` and `vaddr` only; `note` says why
};

enum class Language : uint8_t { kNative = 0, kPython = 1 };

// One function activation. An address has several frames if functions were inlined. All strings are
// valid UTF-8 without control characters, whatever the files on disk contain.
struct SourceFrame {
  std::string function;  // demangled, by the Symbolizer's NameStyle; empty with kModule
  std::string file;      // absolute where the debug information allows it; empty if unknown
  int line = 0;          // 1-based; 0 if unknown
  Language language = Language::kNative;
  std::string module;    // path as recorded; empty for Python
  uint64_t vaddr = 0;    // as recorded: of the return address, not of the call before it
  bool inlined = false;  // inlined into the next frame
  FrameDetail detail = FrameDetail::kModule;
  uint64_t symbol_offset = 0;  // vaddr - start of `function`, with kSymbol
  std::string note;            // why this frame is uncertain, for the user; usually empty

  bool operator==(const SourceFrame&) const = default;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_
