// SPDX-License-Identifier: Apache-2.0
// Converts an instruction of a Python code object to its line, by the interpreter's own tables:
//
//   to 3.9     co_lnotab      Objects/lnotab_notes.txt of that version
//   3.10       co_linetable   PEP 626, Objects/lnotab_notes.txt
//   from 3.11  co_linetable   PEP 657, Objects/locations.md, InternalDocs/code_objects.md
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_PYTHON_LINES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_PYTHON_LINES_H_

#include <cstdint>
#include <string_view>

namespace rollcall {

// The line of the instruction that begins `offset` bytes into the bytecode; 0 if the table has
// none. `version` is major << 8 | minor; versions after 3.13 are read like 3.13, versions before
// 3.8 like 3.8. The table is not trusted: time is linear in its size, and the result is always 0 or
// a positive line. Pure; throws nothing.
int PythonLine(uint32_t version, std::string_view table, uint32_t first_line, uint32_t offset);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_PYTHON_LINES_H_
