// SPDX-License-Identifier: Apache-2.0
// Finds the variables that a function names, in debug information.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/symbolize/dwarf_variable.h"

namespace rollcall::dwarf {

// The variables that are declared before `line` (0: anywhere) in the scopes around `vaddr`, and
// what is `asked` for (DwarfIndex::Variables). `function`: the concrete function; `level`: the
// same, or one that is inlined into it.
std::vector<DwarfVariable> DescribeVariables(Dwarf_Die* function, Dwarf_Die* level, uint64_t vaddr,
                                             int line, const std::vector<std::string>& asked);

}  // namespace rollcall::dwarf

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLES_H_
