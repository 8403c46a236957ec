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
#include "collector/symbolize/dwarf_variable.h"

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
