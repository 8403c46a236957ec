// What a code address means to a person. Pure data: the trace model and the reporter include this
// header, and neither needs libdw for it.
#ifndef ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_
#define ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_

#include <cstdint>
#include <string>

namespace rollcall {

// A place in a module, in terms that survive the process: an ELF virtual address instead of a
// runtime one, and the build id as proof that a file on disk is the one that ran.
struct CodeAddress {
  std::string module_path;  // as the process had it mapped; empty: in no module (JIT code)
  std::string build_id;  // lower-case hex; empty: not recorded, a file on disk cannot be verified
  uint64_t vaddr = 0;    // runtime address - load bias
  // A return address points behind its call, which may already be another line or even another
  // function: it is looked up one byte earlier. False for the interrupted pc of a live thread.
  bool is_return_address = false;

  bool operator==(const CodeAddress&) const = default;
};

// How much is known about a frame, best first.
enum class FrameDetail : uint8_t {
  kSourceLine = 0,  // from debug information; `line` may still be 0: the compiler gave none
  kSymbol = 1,      // from an ELF symbol table: `function` and `symbol_offset`
  kModule = 2,      // `module` and `vaddr` only; `note` says why
};

enum class Language : uint8_t { kNative = 0, kPython = 1 };

// One function activation. Inlining makes several of one address; all strings are valid UTF-8
// without control characters, whatever the files on disk held.
struct SourceFrame {
  std::string function;  // demangled, by the Symbolizer's NameStyle; empty with kModule
  std::string file;      // absolute where the debug information allows it; empty if unknown
  int line = 0;          // 1-based; 0 if unknown
  Language language = Language::kNative;
  std::string module;    // path as recorded; empty for Python
  uint64_t vaddr = 0;    // as recorded: of the return address, not of the call before it
  bool inlined = false;  // inlined into the frame that follows
  FrameDetail detail = FrameDetail::kModule;
  uint64_t symbol_offset = 0;  // vaddr - start of `function`, with kSymbol
  std::string note;            // what makes this frame less than sure, for a person; usually empty

  bool operator==(const SourceFrame&) const = default;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_SOURCE_FRAME_H_
