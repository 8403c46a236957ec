// SPDX-License-Identifier: Apache-2.0
// A variable of a program, as debug information describes it.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLE_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/symbolize/dwarf_expression.h"

namespace rollcall {

// A variable at a code address: its type and the place of its value. Numbers, bools, enumerators,
// pointers and the sizes of vectors that are in memory or in a register.
struct DwarfVariable {
  enum class Type : uint8_t {
    kSigned,
    kUnsigned,
    kFloat,
    kBool,
    kPointer,
    kElements,  // of a std::vector: at the place are the addresses of the first element and the end
    kLost,      // there is no place
  };
  std::string name;  // of a member: as it was asked for
  Type type = Type::kSigned;
  uint32_t bytes = 0;          // 1, 2, 4 or 8; a float: 4 or 8
  uint32_t bit_offset = 0;     // of a bit field, within `bytes`
  uint32_t bit_size = 0;       // 0: no bit field
  uint64_t element_bytes = 0;  // kElements
  // Of an enumeration.
  std::vector<std::pair<int64_t, std::string>> enumerators = {};
  // The value is in register `base`; or in memory, at `base` plus `offset`. For each of `further`,
  // that memory has an address instead: the value is there, plus the number. Registers have DWARF
  // numbers.
  static constexpr int kCallFrame = -1;  // the stack pointer before the call of the function
  static constexpr int kModule = -2;     // the module's address; `offset` is an ELF address
  bool in_register = false;
  int base = kCallFrame;
  int64_t offset = 0;
  std::vector<int64_t> further = {};
  std::vector<DwarfStep> computed = {};  // instead of all these: the value is computed
  // The value is a constant. Compilers give a variable of a loop the constant of its first turn.
  bool constant = false;
  bool is_const = false;  // declared so
  bool parameter = false;
  bool of_frame = true;   // false: a member, or a variable that outlives the call
  bool exported = false;  // another module may define it, too
  bool asked = false;     // it was asked for
  int line = 0;           // of the declaration; 0: unknown
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_VARIABLE_H_
