// Finds the addresses of a loaded module's exported symbols by name.
#ifndef ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
#define ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collector/live/process_image.h"

namespace rollcall {

// Sets the elements of `found`, which is as long as `names`, whose names the module's dynamic
// symbol table defines, to ELF addresses (to which LoadedModule::bias must be added); leaves the
// others unchanged. `file_root`, such as /proc/<pid>/root, is first put in front of the module's
// path. False: the loaded file could not be opened.
bool FindExports(const LoadedModule& module, const std::string& file_root,
                 std::span<const std::string_view> names, std::span<uint64_t> found);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
