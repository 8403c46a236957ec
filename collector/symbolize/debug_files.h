// SPDX-License-Identifier: Apache-2.0
// Finds the file with a module's debug information if the module is stripped. By build id and by
// .gnu_debuglink, as gdb's manual describes in "Debugging Information in Separate Files"; local
// files only: a lookup over the network (debuginfod) could delay a verdict indefinitely.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/symbolize/elf_file.h"

namespace rollcall {

// Tries DIR/.build-id/ab/cdef….debug for every directory. Null if none has this id.
std::unique_ptr<ElfFile> FindDebugFileByBuildId(std::string_view build_id,
                                                const std::vector<std::string>& debug_dirs,
                                                const ElfFile::Limits& limits);

// The debug file of `module`: by build id, then by .gnu_debuglink. A file found by name is used
// only if its build id, or otherwise its CRC, is the recorded one. Null if there is none.
std::unique_ptr<ElfFile> FindDebugFile(const ElfFile& module,
                                       const std::vector<std::string>& debug_dirs,
                                       const ElfFile::Limits& limits);

// The file to which dwz moved the shared parts of `debug`. `name` is absolute or relative to
// `debug`.
std::unique_ptr<ElfFile> FindAltFile(const ElfFile& debug, const std::string& name,
                                     std::string_view build_id,
                                     const std::vector<std::string>& debug_dirs,
                                     const ElfFile::Limits& limits);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DEBUG_FILES_H_
