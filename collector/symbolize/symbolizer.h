// Code addresses to functions, files and lines.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collector/model/source_frame.h"
#include "collector/symbolize/demangle.h"
#include "collector/symbolize/elf_file.h"

namespace rollcall {

// Symbolizes by DWARF (inlining, split DWARF with its .dwo files, dwz), in the module or in a
// separate debug file, else by ELF symbols, else says module and address. Never a wrong line: a
// file whose build id is not the recorded one, or that changes while it is read, is not used.
//
// Addresses and paths are not trusted: whatever they name, Symbolize() returns frames, throws
// nothing but std::bad_alloc, and does not block on special files. It does file I/O, and a dead
// network file system can block it, so a thread that must keep a beat should not call it.
//
// Thread safety: every method may be called from any thread; calls take turns.
class Symbolizer {
 public:
  struct Call {
    std::string callee;               // empty: by a pointer, or unknown
    std::vector<SourceFrame> frames;  // where it is made: as Symbolize()
  };
  struct Options {
    NameStyle name_style = NameStyle::kShort;
    // Where separate debug files are, in order. To be extended, not replaced, for private ones.
    std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
    // Put in front of every module path; for ranks that see another root: /proc/<pid>/root.
    std::string root;
    ElfFile::Limits limits;
    // Bounds on what is kept. The module used longest ago is dropped first; each holds up to three
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

  // The calls that the function at `address` makes, `most` at most; see DwarfIndex::Calls(). Empty:
  // not known.
  std::vector<Call> CallsOf(const CodeAddress& address, size_t most);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_SYMBOLIZER_H_
