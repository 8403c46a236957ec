// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_index.h"

#include <dwarf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/symbolize/dwarf_entries.h"
#include "collector/symbolize/dwarf_variables.h"

namespace rollcall {
namespace {

constexpr int kMaxEntries = 20'000'000;  // DIEs visited per unit

const char* StringAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

// Makes a C++ name from the scopes around a declaration, for functions without a linkage name.
std::string QualifiedName(Dwarf_Die* die, const char* name, bool with_functions) {
  Dwarf_Die declaration = dwarf::DeclarationOf(*die);
  std::string qualified = name;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    const char* scope = dwarf::NameOf(&scopes[i]);
    switch (tag) {
      case DW_TAG_namespace:
        if (scope == nullptr) scope = "(anonymous namespace)";
        break;
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
        // A closure's type has no name.
        if (scope == nullptr && std::strcmp(name, "operator()") == 0) scope = "{lambda}";
        break;
      case DW_TAG_union_type:
      case DW_TAG_module:
        break;
      case DW_TAG_subprogram:  // around a local class
        if (!with_functions) scope = nullptr;
        break;
      default:
        scope = nullptr;
    }
    if (scope != nullptr) qualified.insert(0, "::").insert(0, scope);
  }
  std::free(scopes);
  return qualified;
}

bool IsFortran(int language) {
  switch (language) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
      return true;
    default:
      return false;
  }
}

// Sets `*qualified` to false if the scopes of a C++ function had to be guessed.
std::string FunctionName(Dwarf_Die* die, int language, NameStyle style, bool* qualified) {
  const char* name = StringAttribute(die, DW_AT_name);
  if (!IsFortran(language)) {
    const char* linkage = StringAttribute(die, DW_AT_linkage_name);
    if (linkage == nullptr) linkage = StringAttribute(die, DW_AT_MIPS_linkage_name);
    if (linkage != nullptr && std::strncmp(linkage, "_Z", 2) == 0) return Demangle(linkage, style);
  }
  if (name == nullptr) return "";
  if (language == DW_LANG_C89 || language == DW_LANG_C99 || language == DW_LANG_C11 ||
      language == DW_LANG_C) {
    return name;
  }
  // A Fortran procedure's scope is its module; a program that contains it is not part of its name.
  if (!IsFortran(language)) *qualified = false;
  return QualifiedName(die, name, !IsFortran(language));
}

// Joins `file` with the unit's directory and removes "." and "..". Keeps ".." if its removal would
// lead to another file: "link/.." is not the directory that contains the link.
std::string AbsolutePath(const char* file, Dwarf_Die* unit) {
  if (file == nullptr || std::strcmp(file, "???") == 0) return "";
  std::filesystem::path path(file);
  Dwarf_Attribute attribute;
  if (path.is_relative()) {
    const char* directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    if (directory != nullptr) path = std::filesystem::path(directory) / path;
  }
  std::filesystem::path normal = path.lexically_normal();
  if (normal == path) return path.string();
  if (path.string().find("/../") != std::string::npos) {
    struct stat plain;
    struct stat shortened;
    if (stat(path.c_str(), &plain) == 0 &&
        (stat(normal.c_str(), &shortened) != 0 || plain.st_ino != shortened.st_ino ||
         plain.st_dev != shortened.st_dev)) {
      return path.string();
    }
  }
  return normal.string();
}

// libdw opens any kind of file that a skeleton unit names, and would block on a FIFO.
bool SplitFileIsSafe(Dwarf_Die* skeleton) {
  const char* name = StringAttribute(skeleton, DW_AT_dwo_name);
  if (name == nullptr) name = StringAttribute(skeleton, DW_AT_GNU_dwo_name);
  if (name == nullptr) return false;
  const char* directory = StringAttribute(skeleton, DW_AT_comp_dir);
  struct stat st;
  const auto safe = [&st](const std::string& path) {
    return stat(path.c_str(), &st) != 0 || S_ISREG(st.st_mode);
  };
  // libdw also looks for the name, without its directory, next to the module. The module's
  // directory is as trustworthy as the module.
  return safe(name) && (directory == nullptr || safe(std::string(directory) + "/" + name));
}

bool MayHoldFunctions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:  // Fortran
    case DW_TAG_subprogram:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_lexical_block:
      return true;
    default:
      return false;
  }
}

// Returns the chain of functions inlined into `function` at `vaddr`, outermost first.
std::vector<Dwarf_Die> InlinedChain(Dwarf_Die function, uint64_t vaddr) {
  std::vector<Dwarf_Die> chain;
  Dwarf_Die scope = function;
  for (int depth = 0; depth < dwarf::kMaxScopeDepth; ++depth) {
    Dwarf_Die child;
    bool found = false;
    for (int more = dwarf_child(&scope, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      const int tag = dwarf_tag(&child);
      if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
          dwarf_haspc(&child, vaddr) == 1) {
        if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
        found = true;
        break;
      }
    }
    if (!found) break;
    scope = child;
  }
  return chain;
}

}  // namespace

std::vector<std::vector<DwarfVariable>> DwarfIndex::Variables(
    uint64_t vaddr, const std::vector<std::vector<std::string>>& asked) {
  std::vector<std::vector<DwarfVariable>> all;
  const std::optional<Dwarf_Die> unit_die = FindUnit(vaddr);
  if (!unit_die) return all;
  Unit& unit = UnitAt(*unit_die);
  Range* function = FunctionAt(unit, vaddr);
  if (function == nullptr) return all;
  std::vector<Dwarf_Die> levels = InlinedChain(function->die, vaddr);
  std::ranges::reverse(levels);
  levels.push_back(function->die);
  int line = 0;
  if (Dwarf_Line* row = dwarf_getsrc_die(&unit.skeleton, vaddr); row != nullptr) {
    dwarf_lineno(row, &line);
  }
  for (Dwarf_Die& level : levels) {
    const size_t index = all.size();
    all.push_back(
        dwarf::DescribeVariables(&function->die, &level, vaddr, line,
                                 index < asked.size() ? asked[index] : std::vector<std::string>()));
    const auto call_line = dwarf::UnsignedAttribute(&level, DW_AT_call_line);
    line = call_line && *call_line <= INT32_MAX ? static_cast<int>(*call_line) : 0;
  }
  return all;
}

std::optional<Dwarf_Die> DwarfIndex::FindUnit(uint64_t vaddr) {
  Dwarf_Die die;
  if (dwarf_addrdie(dwarf_, vaddr, &die) != nullptr) return die;
  // clang writes no .debug_aranges, and partially linked objects have them for some units only.
  if (!all_units_read_) {
    all_units_read_ = true;
    Dwarf_CU* unit = nullptr;
    while (dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;) {
        if (begin < end) unit_ranges_.push_back({begin, end, die});
      }
    }
    // Units do not overlap in an intact file; in a damaged one any result will do.
    std::ranges::stable_sort(unit_ranges_, {}, &Range::begin);
  }
  auto after = std::ranges::upper_bound(unit_ranges_, vaddr, {}, &Range::begin);
  if (after == unit_ranges_.begin() || vaddr >= std::prev(after)->end) return std::nullopt;
  return std::prev(after)->die;
}

void DwarfIndex::CollectFunctions(Unit* unit, Dwarf_Die* parent, int depth, int* budget) {
  Dwarf_Die child;
  if (depth > dwarf::kMaxScopeDepth) return;
  for (int more = dwarf_child(parent, &child); more == 0 && *budget > 0;
       more = dwarf_siblingof(&child, &child)) {
    --*budget;
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0;) {
        if (begin < end) unit->functions.push_back({begin, end, child});
      }
    }
    // Fortran's contained procedures and GNU C's nested functions are inside another function's
    // DIE, but outside its address range.
    if (MayHoldFunctions(tag)) CollectFunctions(unit, &child, depth + 1, budget);
  }
}

DwarfIndex::Unit& DwarfIndex::UnitAt(Dwarf_Die unit_die) {
  auto [it, inserted] = units_.try_emplace(dwarf_dieoffset(&unit_die));
  Unit& unit = it->second;
  if (!inserted) return unit;
  unit.skeleton = unit_die;
  unit.full = unit_die;
  const bool split = dwarf_hasattr(&unit_die, DW_AT_dwo_name) == 1 ||
                     dwarf_hasattr(&unit_die, DW_AT_GNU_dwo_name) == 1;
  if (split) {
    Dwarf_Die sub{};
    unit.has_functions = SplitFileIsSafe(&unit_die) &&
                         dwarf_cu_info(unit_die.cu, nullptr, nullptr, nullptr, &sub, nullptr,
                                       nullptr, nullptr) == 0 &&
                         dwarf_tag(&sub) == DW_TAG_compile_unit;
    if (unit.has_functions) unit.full = sub;
  }
  int budget = kMaxEntries;
  if (unit.has_functions) CollectFunctions(&unit, &unit.full, 0, &budget);
  return unit;
}

DwarfIndex::Range* DwarfIndex::FunctionAt(Unit& unit, uint64_t vaddr) {
  // Searches from the end: inner functions are collected after outer ones, and LTO may leave
  // several functions at one address.
  const auto function =
      std::find_if(unit.functions.rbegin(), unit.functions.rend(),
                   [vaddr](const Range& r) { return vaddr >= r.begin && vaddr < r.end; });
  return function == unit.functions.rend() ? nullptr : &*function;
}

std::vector<DwarfCall> DwarfIndex::Calls(uint64_t vaddr, size_t most) {
  std::vector<DwarfCall> calls;
  const std::optional<Dwarf_Die> unit_die = FindUnit(vaddr);
  if (!unit_die) return calls;
  Unit& unit = UnitAt(*unit_die);
  Range* function = FunctionAt(unit, vaddr);
  if (function == nullptr) return calls;
  std::vector<std::pair<Dwarf_Die, int>> scopes = {{function->die, 0}};
  while (!scopes.empty() && calls.size() < most) {
    auto [scope, depth] = scopes.back();
    scopes.pop_back();
    Dwarf_Die child;
    for (int more = dwarf_child(&scope, &child); more == 0 && calls.size() < most;
         more = dwarf_siblingof(&child, &child)) {
      const int tag = dwarf_tag(&child);
      const bool within = tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
      if (within && depth < dwarf::kMaxScopeDepth) scopes.emplace_back(child, depth + 1);
      if (tag != DW_TAG_call_site && tag != DW_TAG_GNU_call_site) continue;
      const bool gnu = tag == DW_TAG_GNU_call_site;
      Dwarf_Attribute attribute;
      Dwarf_Addr address = 0;
      // A tail call has no return address.
      if (dwarf_formaddr(dwarf_attr(&child, gnu ? DW_AT_low_pc : DW_AT_call_return_pc, &attribute),
                         &address) != 0) {
        continue;
      }
      DwarfCall& call = calls.emplace_back();
      call.return_address = address;
      Dwarf_Die origin;
      const unsigned name = gnu ? DW_AT_abstract_origin : DW_AT_call_origin;
      if (dwarf_formref_die(dwarf_attr(&child, name, &attribute), &origin) == nullptr) continue;
      if (const char* text = dwarf::NameOf(&origin); text != nullptr) call.callee = text;
    }
  }
  return calls;
}

std::vector<DwarfFrame> DwarfIndex::Lookup(uint64_t vaddr, NameStyle style) {
  std::vector<DwarfFrame> frames;
  const std::optional<Dwarf_Die> unit_die = FindUnit(vaddr);
  if (!unit_die) return frames;
  Unit& unit = UnitAt(*unit_die);
  const int language = dwarf_srclang(&unit.full);

  Range* function = FunctionAt(unit, vaddr);
  if (function == nullptr && unit.has_functions) return frames;

  std::string file;
  int line = 0;
  if (Dwarf_Line* row = dwarf_getsrc_die(&unit.skeleton, vaddr); row != nullptr) {
    file = AbsolutePath(dwarf_linesrc(row, nullptr, nullptr), &unit.skeleton);
    dwarf_lineno(row, &line);
  }
  if (!unit.has_functions) {
    if (!file.empty()) frames.push_back({.function = {}, .file = file, .line = line});
    return frames;
  }

  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  dwarf_getsrcfiles(&unit.full, &files, &file_count);
  std::vector<Dwarf_Die> chain = InlinedChain(function->die, vaddr);
  for (auto inlined = chain.rbegin(); inlined != chain.rend(); ++inlined) {
    DwarfFrame frame{.function = {}, .file = file, .line = line, .inlined = true};
    frame.function = FunctionName(&*inlined, language, style, &frame.qualified);
    frames.push_back(std::move(frame));
    // The place of the enclosing frame is where this function was inlined.
    const auto call_file = dwarf::UnsignedAttribute(&*inlined, DW_AT_call_file);
    const auto call_line = dwarf::UnsignedAttribute(&*inlined, DW_AT_call_line);
    file.clear();
    if (call_file && files != nullptr && *call_file < file_count) {
      file = AbsolutePath(dwarf_filesrc(files, *call_file, nullptr, nullptr), &unit.skeleton);
    }
    line = call_line && *call_line <= INT32_MAX ? static_cast<int>(*call_line) : 0;
  }
  DwarfFrame frame{.function = {}, .file = file, .line = line};
  frame.function = FunctionName(&function->die, language, style, &frame.qualified);
  frames.push_back(std::move(frame));
  return frames;
}

}  // namespace rollcall
