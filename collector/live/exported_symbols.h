// SPDX-License-Identifier: Apache-2.0
// Finds the addresses of a loaded module's exported symbols by name.
#ifndef ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
#define ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "collector/live/process_image.h"

namespace rollcall {

// Looks up `names` in the module's dynamic symbol table. `found` is as long as `names`. For each
// name that the table defines, sets the element of `found` to its ELF address (add
// LoadedModule::bias for the runtime address). Leaves the other elements unchanged. `file_root`,
// such as /proc/<pid>/root, is first put in front of the module's path. False: the loaded file
// could not be opened.
bool FindExports(const LoadedModule& module, const std::string& file_root,
                 std::span<const std::string_view> names, std::span<uint64_t> found);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_EXPORTED_SYMBOLS_H_
