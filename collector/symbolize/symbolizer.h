// SPDX-License-Identifier: Apache-2.0
// Converts code addresses to functions, files and lines.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collector/model/source_frame.h"
#include "collector/symbolize/demangle.h"
#include "collector/symbolize/dwarf_index.h"
#include "collector/symbolize/elf_file.h"

namespace rollcall {

// Symbolizes by DWARF (inlining, split DWARF with its .dwo files, dwz), in the module or in a
// separate debug file; otherwise by ELF symbols; otherwise as module and address. Never gives a
// wrong line: it does not use a file whose build id is not the recorded one, or that changes while
// it is read.
//
// Addresses and paths are not trusted: whatever they name, Symbolize() returns frames, throws
// std::bad_alloc only, and does not block on special files. It does file I/O, and an unreachable
// network file system can block it, so do not call it from a thread that must meet a deadline.
//
// Thread safety: every method may be called from any thread; calls are serialized.
class Symbolizer {
 public:
  struct Call {
    std::string callee;               // empty: by a pointer, or unknown
    std::vector<SourceFrame> frames;  // of the call, as from Symbolize()
  };
  struct Options {
    NameStyle name_style = NameStyle::kShort;
    // Directories of separate debug files, in order. Add private ones; do not replace the list.
    std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
    // Prefix of every module path, for ranks with another root directory: /proc/<pid>/root.
    std::string root;
    ElfFile::Limits limits;
    // Limits of the cache. The least recently used module is dropped first; each has up to three
    // descriptors.
    size_t max_modules = 128;
    size_t max_cached_addresses = 1 << 17;
  };

  explicit Symbolizer(Options options);
  Symbolizer() : Symbolizer(Options{}) {}
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Innermost first: functions inlined at the address, then the function that holds the code. Never
  // empty. The first call for a module reads it; a repeated address costs a hash lookup.
  std::vector<SourceFrame> Symbolize(const CodeAddress& address);

  // The calls of the function at `address`, at most `most`; see DwarfIndex::Calls(). Empty:
  // unknown.
  std::vector<Call> CallsOf(const CodeAddress& address, size_t most);

  // The variables of each of the functions that Symbolize() returns for `address`, in the same
  // order, and what is `asked` for; see DwarfIndex::Variables(). Empty: unknown.
  std::vector<std::vector<DwarfVariable>> VariablesAt(
      const CodeAddress& address, const std::vector<std::vector<std::string>>& asked = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_
