// Finds the file that holds a module's debug information when the module itself has been stripped.
// By build id and by .gnu_debuglink, as "Debugging Information in Separate Files" in gdb's manual
// describes; local files only: no debuginfod, since a lookup over the network could hang a verdict.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/symbolize/elf_file.h"

namespace rollcall {

// DIR/.build-id/ab/cdef….debug for every directory. Null if none has this id.
std::unique_ptr<ElfFile> FindDebugFileByBuildId(std::string_view build_id,
                                                const std::vector<std::string>& debug_dirs,
                                                const ElfFile::Limits& limits);

// The debug file of `module`: by build id, then by .gnu_debuglink. A file found by name is taken
// only if its build id, or else its CRC, is the recorded one. Null if there is none.
std::unique_ptr<ElfFile> FindDebugFile(const ElfFile& module,
                                       const std::vector<std::string>& debug_dirs,
                                       const ElfFile::Limits& limits);

// The file that dwz moved `debug`'s shared parts to. `name` is absolute or relative to `debug`.
std::unique_ptr<ElfFile> FindAltFile(const ElfFile& debug, const std::string& name,
                                     std::string_view build_id,
                                     const std::vector<std::string>& debug_dirs,
                                     const ElfFile::Limits& limits);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_
