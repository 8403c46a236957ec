// SPDX-License-Identifier: Apache-2.0
// The debug information of one module, looked up by address.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_INDEX_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_INDEX_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/symbolize/demangle.h"
#include "collector/symbolize/dwarf_expression.h"

namespace rollcall {

// One level of inlining at an address, according to the debug information.
struct DwarfFrame {
  std::string function;
  std::string file;  // absolute where possible; empty if unknown
  int line = 0;      // 0 if unknown
  bool inlined = false;
  bool qualified = true;  // false: C++ without a linkage name; a symbol may be more specific
};

// A call that a function makes.
struct DwarfCall {
  std::string callee;           // as C has it; empty: by a pointer, or unknown
  uint64_t return_address = 0;  // ELF address
};

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
  bool parameter = false;
  bool of_frame = true;   // false: a member, or a variable that outlives the call
  bool exported = false;  // another module may define it, too
  bool asked = false;     // it was asked for
  int line = 0;           // of the declaration; 0: unknown
};

// Not thread-safe. Does not own the Dwarf, which must outlive it. Malformed input leads to missing
// answers; recursion and work are bounded. Compilation units are parsed when first needed.
class DwarfIndex {
 public:
  explicit DwarfIndex(Dwarf* dwarf) : dwarf_(dwarf) {}

  // Innermost first, the concrete function last. Empty: no function of the debug information covers
  // `vaddr`. With split DWARF whose .dwo files are missing: one frame with an empty function.
  std::vector<DwarfFrame> Lookup(uint64_t vaddr, NameStyle style);

  // The calls of the function with the code at `vaddr`, and of functions inlined into it, as far as
  // the compiler recorded them (DW_TAG_call_site, only with optimization); at most `most`.
  std::vector<DwarfCall> Calls(uint64_t vaddr, size_t most);

  // The variables of each function of Lookup(vaddr, …), in the same order, that are declared before
  // the function's line there. Names that several variables of the function have are left out, and
  // constants unless they are asked for. `asked`: for each function, further things that it can
  // name, such as members ("opt.skip", "ctx->n", "done" for this->done), variables of the scopes
  // around it, or the sizes of vectors; what is a variable of the function but has no place is
  // kLost.
  std::vector<std::vector<DwarfVariable>> Variables(
      uint64_t vaddr, const std::vector<std::vector<std::string>>& asked);

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    Dwarf_Die die;
  };
  struct Unit {
    Dwarf_Die skeleton;  // the unit's DIE in the file itself: ranges, lines, comp_dir
    Dwarf_Die full;      // where its functions are; the same, unless the unit is split
    bool has_functions = true;
    std::vector<Range> functions;  // not sorted: few per unit, and nested ones overlap
  };

  std::optional<Dwarf_Die> FindUnit(uint64_t vaddr);
  Unit& UnitAt(Dwarf_Die unit_die);
  // Null if there is none; owned by the unit.
  static Range* FunctionAt(Unit& unit, uint64_t vaddr);
  void CollectFunctions(Unit* unit, Dwarf_Die* parent, int depth, int* budget);

  Dwarf* dwarf_;
  std::unordered_map<Dwarf_Off, Unit> units_;  // by offset of the unit's DIE
  bool all_units_read_ = false;
  std::vector<Range> unit_ranges_;  // of every unit, if .debug_aranges is incomplete
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_INDEX_H_
