// Addresses of what a loaded module exports, by name.
#ifndef ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
#define ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collector/live/process_image.h"

namespace rollcall {

// Sets those of `found`, which is as long as `names`, that the module's dynamic symbol table
// defines, to ELF addresses (LoadedModule::bias is to be added); the others stay as they were.
// `file_root` is put in front of the module's path first: /proc/<pid>/root. False: the file that is
// loaded could not be opened.
bool FindExports(const LoadedModule& module, const std::string& file_root,
                 std::span<const std::string_view> names, std::span<uint64_t> found);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
