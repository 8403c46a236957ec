// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_index.h"

#include <dwarf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace rollcall {
namespace {

constexpr int kMaxScopeDepth = 200;      // of nested scopes; DIE trees of real programs reach 30
constexpr int kMaxEntries = 20'000'000;  // DIEs visited per unit

const char* StringAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

// Replaces a DIE by the one that it refers to. False: there is none.
bool FollowReference(unsigned reference, Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die target;
  if (dwarf_attr(die, reference, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &target) == nullptr) {
    return false;
  }
  *die = target;
  return true;
}

// The name of a DIE, or of the one that it is an instance of. In a damaged file, libdw may return a
// string that has no end: only dwarf_getattrs() checks that all attributes end in their section.
const char* NameOf(Dwarf_Die* die) {
  constexpr int kMaxReferences = 4;
  Dwarf_Die at = *die;
  for (int i = 0; i < kMaxReferences; ++i) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&at, DW_AT_name, &attribute) != nullptr) {
      const auto next = [](Dwarf_Attribute*, void*) -> int { return DWARF_CB_OK; };
      return dwarf_getattrs(&at, next, nullptr, 0) == 1 ? dwarf_formstring(&attribute) : nullptr;
    }
    if (!FollowReference(DW_AT_abstract_origin, &at) && !FollowReference(DW_AT_specification, &at))
      return nullptr;
  }
  return nullptr;
}

// The DIE of which an inlined or a concrete one is an instance; else the DIE itself.
Dwarf_Die OriginOf(Dwarf_Die die) {
  constexpr int kMaxSteps = 4;  // with link-time optimization, an origin may have an origin
  for (int step = 0; step < kMaxSteps; ++step) {
    if (!FollowReference(DW_AT_abstract_origin, &die)) break;
  }
  return die;
}

// The DIE of a function whose parents are the scopes around the function.
Dwarf_Die DeclarationOf(const Dwarf_Die& function) {
  Dwarf_Die declaration = OriginOf(function);
  FollowReference(DW_AT_specification, &declaration);
  return declaration;
}

// Makes a C++ name from the scopes around a declaration, for functions without a linkage name.
std::string QualifiedName(Dwarf_Die* die, const char* name, bool with_functions) {
  Dwarf_Die declaration = DeclarationOf(*die);
  std::string qualified = name;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    const char* scope = NameOf(&scopes[i]);
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

std::optional<Dwarf_Word> UnsignedAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return std::nullopt;
  return value;
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
  for (int depth = 0; depth < kMaxScopeDepth; ++depth) {
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

// Follows typedefs and qualifiers from what `of` refers to.
bool FindType(Dwarf_Die* of, Dwarf_Die* type) {
  constexpr int kMaxSteps = 32;
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(of, DW_AT_type, &attribute), type) == nullptr) {
    return false;
  }
  for (int step = 0; step < kMaxSteps; ++step) {
    switch (dwarf_tag(type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
        break;
      default:
        return true;
    }
    Dwarf_Die next;
    if (dwarf_formref_die(dwarf_attr(type, DW_AT_type, &attribute), &next) == nullptr) return false;
    *type = next;
  }
  return false;
}

bool IsReference(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool SetEncoding(uint64_t encoding, DwarfVariable* variable) {
  using Type = DwarfVariable::Type;
  switch (encoding) {
    case DW_ATE_signed:
    case DW_ATE_signed_char:
      variable->type = Type::kSigned;
      return true;
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
      variable->type = Type::kUnsigned;
      return true;
    case DW_ATE_boolean:
      variable->type = Type::kBool;
      return true;
    case DW_ATE_float:
      variable->type = Type::kFloat;
      return variable->bytes >= 4;
    default:
      return false;
  }
}

void DescribeEnumeration(Dwarf_Die* type, DwarfVariable* variable) {
  constexpr size_t kMaxEnumerators = 512;
  bool negative = false;
  Dwarf_Die child;
  for (int more = dwarf_child(type, &child);
       more == 0 && variable->enumerators.size() < kMaxEnumerators;
       more = dwarf_siblingof(&child, &child)) {
    Dwarf_Attribute attribute;
    Dwarf_Sword value = 0;
    const char* name = NameOf(&child);
    if (dwarf_tag(&child) != DW_TAG_enumerator || name == nullptr ||
        dwarf_formsdata(dwarf_attr(&child, DW_AT_const_value, &attribute), &value) != 0) {
      continue;
    }
    negative |= value < 0;
    variable->enumerators.emplace_back(value, name);
  }
  variable->type = negative ? DwarfVariable::Type::kSigned : DwarfVariable::Type::kUnsigned;
  Dwarf_Die base;
  const auto encoding = FindType(type, &base) ? UnsignedAttribute(&base, DW_AT_encoding)
                                              : UnsignedAttribute(type, DW_AT_encoding);
  if (encoding) SetEncoding(*encoding, variable);
}

bool DescribeType(Dwarf_Die* type, DwarfVariable* variable) {
  const int tag = dwarf_tag(type);
  if (tag == DW_TAG_pointer_type) {
    variable->type = DwarfVariable::Type::kPointer;
    variable->bytes = sizeof(uint64_t);
    return true;
  }
  if (tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type) return false;
  const std::optional<Dwarf_Word> bytes = UnsignedAttribute(type, DW_AT_byte_size);
  if (!bytes || (*bytes != 1 && *bytes != 2 && *bytes != 4 && *bytes != 8)) return false;
  variable->bytes = static_cast<uint32_t>(*bytes);
  if (tag == DW_TAG_base_type) {
    return SetEncoding(UnsignedAttribute(type, DW_AT_encoding).value_or(0), variable);
  }
  DescribeEnumeration(type, variable);
  return true;
}

// The operations of an attribute that hold at `vaddr`; empty if there are none, or several lists.
std::vector<Dwarf_Op> Operations(Dwarf_Die* die, unsigned name, uint64_t vaddr) {
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr ||
      dwarf_getlocation_addr(&attribute, vaddr, &operations, &count, 1) != 1) {
    return {};
  }
  return {operations, operations + count};
}

// The number of a register that one operation names; -1: another operation.
int RegisterOf(const Dwarf_Op& operation) {
  if (operation.atom >= DW_OP_reg0 && operation.atom <= DW_OP_reg31) {
    return operation.atom - DW_OP_reg0;
  }
  return -1;
}

// The ELF address that the operation of a variable's location gives; empty: another operation.
std::optional<uint64_t> StaticAddress(Dwarf_Die* die, const Dwarf_Op& operation) {
  if (operation.atom == DW_OP_addr) return operation.number;
  Dwarf_Attribute location;
  Dwarf_Attribute indexed;
  Dwarf_Addr address = 0;
  if (operation.atom != DW_OP_addrx ||
      dwarf_attr_integrate(die, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation_attr(&location, &operation, &indexed) != 0 ||
      dwarf_formaddr(&indexed, &address) != 0) {
    return std::nullopt;
  }
  return address;
}

// The register of a function's frame base, or kCallFrame.
std::optional<int> FrameBase(Dwarf_Die* function, uint64_t vaddr) {
  const std::vector<Dwarf_Op> base = Operations(function, DW_AT_frame_base, vaddr);
  if (base.size() != 1) return std::nullopt;
  if (base[0].atom == DW_OP_call_frame_cfa) return DwarfVariable::kCallFrame;
  const int number = RegisterOf(base[0]);
  return number < 0 ? std::nullopt : std::optional(number);
}

bool DescribePlace(Dwarf_Die* die, Dwarf_Die* function, uint64_t vaddr, DwarfVariable* variable) {
  constexpr size_t kMaxDereferences = 2;  // an argument that is passed by reference
  const std::vector<Dwarf_Op> operations = Operations(die, DW_AT_location, vaddr);
  if (operations.empty() || operations.size() > 1 + kMaxDereferences) return false;
  for (size_t i = 1; i < operations.size(); ++i) {
    if (operations[i].atom != DW_OP_deref) return false;
    variable->further.push_back(0);
  }
  const Dwarf_Op& first = operations[0];
  if (const int number = RegisterOf(first); number >= 0) {
    variable->in_register = true;
    variable->base = number;
    return operations.size() == 1;
  }
  variable->offset = static_cast<int64_t>(first.number);
  if (first.atom >= DW_OP_breg0 && first.atom <= DW_OP_breg31) {
    variable->base = first.atom - DW_OP_breg0;
    return true;
  }
  if (const auto address = StaticAddress(die, first)) {
    variable->offset = static_cast<int64_t>(*address);
    variable->base = DwarfVariable::kModule;
    variable->of_frame = false;
    return true;
  }
  if (first.atom != DW_OP_fbreg) return false;
  const std::optional<int> base = FrameBase(function, vaddr);
  variable->base = base.value_or(0);
  return base.has_value();
}

// Sets the expression that computes the variable's value. False: it has none.
bool DescribeComputation(Dwarf_Die* die, Dwarf_Die* function, uint64_t vaddr,
                         DwarfVariable* variable) {
  std::vector<DwarfStep> steps;
  for (const Dwarf_Op& operation : Operations(die, DW_AT_location, vaddr)) {
    DwarfStep step{operation.atom, operation.number, operation.number2};
    if (operation.atom == DW_OP_fbreg) {
      const std::optional<int> base = FrameBase(function, vaddr);
      if (!base) return false;
      step.number2 = static_cast<uint64_t>(*base);
    }
    steps.push_back(step);
  }
  if (!IsValue(steps)) return false;
  variable->constant = IsConstant(steps);
  variable->computed = std::move(steps);
  return true;
}

// The place changes from that of a pointer, or of a reference, to what it refers to.
void FollowPointer(DwarfVariable* variable) {
  if (variable->in_register) {
    variable->in_register = false;
    variable->offset = 0;
  } else {
    variable->further.push_back(0);
  }
}

// The place changes from that of an object to that of its member.
void AddOffset(uint64_t bytes, DwarfVariable* variable) {
  int64_t& last = variable->further.empty() ? variable->offset : variable->further.back();
  last = static_cast<int64_t>(static_cast<uint64_t>(last) + bytes);
}

bool IsObject(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool IsDeclaration(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  return dwarf_attr(die, DW_AT_declaration, &attribute) != nullptr;
}

// The place of a member or of a base class in its object; empty: unknown. A virtual base has an
// expression. A member of a union has no place, nor has a bit field that counts all bits.
std::optional<uint64_t> PlaceInObject(Dwarf_Die* type, Dwarf_Die* child) {
  if (dwarf_hasattr(child, DW_AT_virtuality) == 1) return std::nullopt;
  if (dwarf_hasattr(child, DW_AT_data_member_location) == 1) {
    return UnsignedAttribute(child, DW_AT_data_member_location);
  }
  const bool first =
      dwarf_tag(type) == DW_TAG_union_type || dwarf_hasattr(child, DW_AT_data_bit_offset) == 1;
  return first ? std::optional<uint64_t>(0) : std::nullopt;
}

bool FindMemberWithin(Dwarf_Die type, std::string_view name, int depth, int* budget,
                      Dwarf_Die* member, uint64_t* offset) {
  constexpr int kMaxBases = 16;
  if (depth == kMaxBases || !IsObject(&type)) return false;
  Dwarf_Die child;
  // An own member hides those of the base classes.
  for (int more = dwarf_child(&type, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (--*budget < 0) return false;
    const int tag = dwarf_tag(&child);
    const char* own = NameOf(&child);
    if ((tag != DW_TAG_member && tag != DW_TAG_variable) || own == nullptr || name != own) continue;
    // A static member is not in the object.
    const auto place = PlaceInObject(&type, &child);
    if (tag == DW_TAG_variable || IsDeclaration(&child) || !place ||
        dwarf_hasattr(&child, DW_AT_external) == 1) {
      return false;
    }
    *member = child;
    *offset = *place;
    return true;
  }
  for (int more = dwarf_child(&type, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (--*budget < 0) return false;
    const int tag = dwarf_tag(&child);
    const bool nameless = tag == DW_TAG_member && NameOf(&child) == nullptr;
    if (tag != DW_TAG_inheritance && !nameless) continue;
    const auto place = PlaceInObject(&type, &child);
    Dwarf_Die inside;
    if (!place || !FindType(&child, &inside) ||
        !FindMemberWithin(inside, name, depth + 1, budget, member, offset)) {
      continue;
    }
    *offset += *place;
    return true;
  }
  return false;
}

// Finds a member of an object's type, of its base classes and of its members without a name. Sets
// `*offset` to its place in the object.
bool FindMember(Dwarf_Die type, std::string_view name, Dwarf_Die* member, uint64_t* offset) {
  int budget = 1 << 14;  // a damaged type may have many members of its own type
  return FindMemberWithin(type, name, 0, &budget, member, offset);
}

// Whether a child of the DIE has the name. An enumeration without a scope declares its enumerators
// next to itself.
bool DeclaresName(Dwarf_Die* child, std::string_view name) {
  const char* own = NameOf(child);
  if (own != nullptr && name == own) return true;
  Dwarf_Die inner;
  if (dwarf_tag(child) == DW_TAG_imported_declaration) {
    inner = *child;
    const char* imported = FollowReference(DW_AT_import, &inner) ? NameOf(&inner) : nullptr;
    return imported != nullptr && name == imported;
  }
  if (dwarf_tag(child) != DW_TAG_enumeration_type) return false;
  for (int more = dwarf_child(child, &inner); more == 0; more = dwarf_siblingof(&inner, &inner)) {
    const char* enumerator = NameOf(&inner);
    if (enumerator != nullptr && name == enumerator) return true;
  }
  return false;
}

// Whether the name may be that of a member of any kind; so, too, if not all members are known.
bool MayHaveMember(Dwarf_Die type, std::string_view name, int depth, int* budget) {
  constexpr int kMaxBases = 16;
  if (depth == kMaxBases || IsDeclaration(&type)) return true;
  Dwarf_Die child;
  for (int more = dwarf_child(&type, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (--*budget < 0 || DeclaresName(&child, name)) return true;
    const int tag = dwarf_tag(&child);
    const bool nameless = tag == DW_TAG_member && NameOf(&child) == nullptr;
    Dwarf_Die inside;
    if ((tag == DW_TAG_inheritance || nameless) &&
        (!FindType(&child, &inside) || MayHaveMember(inside, name, depth + 1, budget))) {
      return true;
    }
  }
  return false;
}

// Describes a bit field. False: its place is unknown.
bool DescribeBits(Dwarf_Die* member, DwarfVariable* variable) {
  const auto bits = UnsignedAttribute(member, DW_AT_bit_size);
  if (!bits) return dwarf_hasattr(member, DW_AT_bit_size) == 0;
  std::optional<Dwarf_Word> from = UnsignedAttribute(member, DW_AT_data_bit_offset);
  // Before DWARF 4, and with clang: counted from the highest bit of the unit.
  const auto from_end = UnsignedAttribute(member, DW_AT_bit_offset);
  // Reads the aligned unit that holds the field.
  const uint64_t unit = 8 * uint64_t{variable->bytes};
  if (*bits == 0 || *bits > unit) return false;
  if (!from && from_end && *from_end <= unit - *bits &&
      UnsignedAttribute(member, DW_AT_byte_size).value_or(variable->bytes) == variable->bytes) {
    from = unit - *from_end - *bits;
  }
  if (!from) return false;
  AddOffset(*from / unit * variable->bytes, variable);
  variable->bit_offset = static_cast<uint32_t>(*from % unit);
  variable->bit_size = static_cast<uint32_t>(*bits);
  return variable->bit_offset <= unit - *bits;
}

// Describes a std::vector of libstdc++, which is recognized by the names of its members.
bool DescribeVector(Dwarf_Die* type, DwarfVariable* variable) {
  const char* name = NameOf(type);
  Dwarf_Die data;
  Dwarf_Die implementation;
  Dwarf_Die begin;
  Dwarf_Die end;
  Dwarf_Die pointer;
  Dwarf_Die element;
  uint64_t offset = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  if (name == nullptr || !std::string_view(name).starts_with("vector<") ||
      !FindMember(*type, "_M_impl", &data, &offset) || !FindType(&data, &implementation) ||
      !FindMember(implementation, "_M_start", &begin, &first) ||
      !FindMember(implementation, "_M_finish", &end, &last) || last != first + sizeof(uint64_t) ||
      !FindType(&begin, &pointer) || dwarf_tag(&pointer) != DW_TAG_pointer_type ||
      !FindType(&pointer, &element)) {
    return false;
  }
  const std::optional<Dwarf_Word> bytes = dwarf_tag(&element) == DW_TAG_pointer_type
                                              ? std::optional<Dwarf_Word>(sizeof(uint64_t))
                                              : UnsignedAttribute(&element, DW_AT_byte_size);
  if (!bytes || *bytes == 0) return false;
  variable->type = DwarfVariable::Type::kElements;
  variable->element_bytes = *bytes;
  AddOffset(offset + first, variable);
  return true;
}

// Changes an std::atomic of libstdc++ to the value in it.
void EnterAtomic(Dwarf_Die* type, DwarfVariable* variable) {
  const char* name = NameOf(type);
  if (name == nullptr || !std::string_view(name).starts_with("atomic<")) return;
  Dwarf_Die member;
  Dwarf_Die inner;
  uint64_t offset = 0;
  if (FindMember(*type, "_M_base", &member, &offset) && FindType(&member, &inner)) {
    AddOffset(offset, variable);
    *type = inner;
  }
  if (FindMember(*type, "_M_i", &member, &offset) && FindType(&member, &inner)) {
    AddOffset(offset, variable);
    *type = inner;
  }
}

// A variable that can be named in a function.
struct Visible {
  std::string name;
  Dwarf_Die die;
  std::optional<Dwarf_Word> line = {};  // of the declaration
  bool local = true;                    // false: of the file
};

// Appends the variables of a scope, then those of the blocks in it that hold `vaddr`. A variable
// that is declared at `line` or later has no value yet.
void CollectVisible(Dwarf_Die scope, uint64_t vaddr, int line, int depth,
                    std::vector<Visible>* found) {
  constexpr size_t kMaxVariables = 512;
  Dwarf_Die child;
  for (int more = dwarf_child(&scope, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) continue;
    if (found->size() == kMaxVariables) return;
    const char* name = NameOf(&child);
    Dwarf_Attribute attribute;
    const bool artificial = dwarf_attr_integrate(&child, DW_AT_artificial, &attribute) != nullptr;
    if (name == nullptr || (artificial && std::strcmp(name, "this") != 0)) continue;
    Visible visible{.name = name, .die = child};
    Dwarf_Word number = 0;
    if (dwarf_formudata(dwarf_attr_integrate(&child, DW_AT_decl_line, &attribute), &number) == 0) {
      visible.line = number;
    }
    if (tag == DW_TAG_variable && line > 0 && visible.line &&
        *visible.line >= static_cast<Dwarf_Word>(line)) {
      continue;
    }
    found->push_back(std::move(visible));
  }
  for (int more = dwarf_child(&scope, &child); more == 0; more = dwarf_siblingof(&child, &child)) {
    if (dwarf_tag(&child) == DW_TAG_lexical_block && depth < kMaxScopeDepth &&
        dwarf_haspc(&child, vaddr) == 1) {
      CollectVisible(child, vaddr, line, depth + 1, found);
    }
  }
}

// The names that a function declares, in any of its blocks, whether the code is there or not.
class LocalNames {
 public:
  // Adds those of a function, and of its origin, which has blocks without code, too.
  void Add(Dwarf_Die function) {
    AddScope(function, 0);
    Dwarf_Die origin = OriginOf(function);
    if (origin.addr != function.addr) AddScope(origin, 0);
  }

  // False: there are too many declarations.
  bool Complete() const { return budget_ >= 0; }
  bool Has(std::string_view name) const { return declared_.contains(name); }
  // Whether several variables have the name.
  bool IsAmbiguous(std::string_view name) const {
    const auto found = declared_.find(name);
    return found != declared_.end() && found->second.size() > 1;
  }
  // Whether all names of a module or of a namespace are visible in the function.
  bool Imports() const { return imports_; }

 private:
  void AddScope(Dwarf_Die scope, int depth) {
    Dwarf_Die child;
    for (int more = dwarf_child(&scope, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--budget_ < 0) return;
      AddName(&child);
      switch (dwarf_tag(&child)) {
        case DW_TAG_imported_module:
          imports_ = true;
          break;
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_common_block:
        case DW_TAG_enumeration_type:
          if (depth < kMaxScopeDepth) AddScope(child, depth + 1);
          break;
        default:
          break;
      }
    }
  }

  void AddName(Dwarf_Die* child) {
    const int tag = dwarf_tag(child);
    Dwarf_Die named = *child;
    if (tag == DW_TAG_imported_declaration) FollowReference(DW_AT_import, &named);
    for (Dwarf_Die* die : {child, &named}) {
      const char* name = NameOf(die);
      if (name == nullptr) continue;
      auto& variables = declared_[name];
      if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
        variables.insert(OriginOf(*child).addr);
      }
    }
  }

  int budget_ = 1 << 16;
  bool imports_ = false;
  std::map<std::string, std::set<void*>, std::less<>> declared_;
};

// Describes what is visible at one code address of a function.
class Describer {
 public:
  // `level`: the function that was inlined into `function`, or `function` itself.
  Describer(Dwarf_Die* function, Dwarf_Die* level, uint64_t vaddr, std::vector<Visible> visible)
      : function_(function), level_(level), vaddr_(vaddr), visible_(std::move(visible)) {
    names_.Add(*level);
    // The values of several variables with one name would be compared with each other.
    std::erase_if(visible_, [&](const Visible& one) { return names_.IsAmbiguous(one.name); });
  }

  std::vector<DwarfVariable> All(const std::vector<std::string>& asked) {
    std::vector<DwarfVariable> all;
    if (!names_.Complete()) return all;
    for (Visible& one : visible_) {
      if (one.name == "this") continue;
      const bool is_asked = std::ranges::find(asked, one.name) != asked.end();
      if (auto variable = Describe(&one, {}, is_asked)) all.push_back(std::move(*variable));
    }
    for (const std::string& path : asked) {
      if (std::ranges::find(all, path, &DwarfVariable::name) != all.end()) continue;
      if (auto variable = Resolve(path)) {
        variable->name = path;
        all.push_back(std::move(*variable));
      }
    }
    return all;
  }

 private:
  struct Step {
    std::string_view name;
    bool arrow = false;  // the name follows "->"
  };

  // The names of a path, outermost first: "ctx->part.n".
  static std::vector<Step> Split(std::string_view path) {
    std::vector<Step> names;
    bool arrow = false;
    while (!path.empty()) {
      const size_t end = std::min(path.find_first_of("-.%"), path.size());
      if (end != 0) names.push_back({path.substr(0, end), arrow});
      path.remove_prefix(end);
      arrow = path.starts_with("->");
      path.remove_prefix(std::min(path.find_first_not_of("->.%"), path.size()));
    }
    return names;
  }

  Visible* FindVisible(std::string_view name) {
    const auto found = std::ranges::find(visible_, name, &Visible::name);
    return found == visible_.end() ? nullptr : &*found;
  }

  std::optional<DwarfVariable> Resolve(std::string_view path) {
    std::vector<Step> names = Split(path);
    if (names.empty() || path.find(':') != std::string_view::npos) return std::nullopt;
    const std::string name(names.front().name);
    if (Visible* variable = FindVisible(name)) {
      names.erase(names.begin());
      return Describe(variable, names, true);
    }
    FindScopes();
    if (names_.Has(name) || !names_.Complete()) return std::nullopt;
    if (Visible* object = FindVisible("this")) {
      names.front().arrow = true;
      if (auto member = Describe(object, names, true)) return member;
    }
    if (names_.Imports()) return std::nullopt;
    Visible of_file{.name = name, .die = {}, .local = false};
    if (!FindInFile(name, &of_file.die)) return std::nullopt;
    names.erase(names.begin());
    return Describe(&of_file, names, true);
  }

  // Sets the scopes around the function, and adds the names of the functions around it.
  void FindScopes() {
    if (scopes_) return;
    scopes_.emplace();
    Dwarf_Die declaration = DeclarationOf(*level_);
    if (declaration.addr != level_->addr) names_.Add(declaration);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    for (int i = 1; i < count; ++i) {
      if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) names_.Add(scopes[i]);
      scopes_->push_back(scopes[i]);
    }
    std::free(scopes);
  }

  // Finds the variable of the file that the name means in the function. There is no result if the
  // nearest declaration of the name has no place.
  bool FindInFile(std::string_view name, Dwarf_Die* found) {
    int budget = 1 << 16;
    for (Dwarf_Die& scope : *scopes_) {
      bool imports = false;
      switch (dwarf_tag(&scope)) {
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
          if (MayHaveMember(scope, name, 0, &budget)) return false;
          break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_compile_unit: {
          int placed = 0;
          const int declared = CountInScope(scope, name, 0, &budget, &imports, &placed, found);
          if (budget < 0) return false;
          if (declared != 0) return declared == 1 && (placed == 1 || FindDefinition(found));
          break;
        }
        default:
          return false;  // a function around the function, or a unit of shared declarations
      }
      // An imported name hides those of the scopes around.
      if (imports) return false;
    }
    return false;
  }

  // Counts the declarations of the name in a scope, including the namespaces whose names are
  // visible outside them. Sets `*found` to the last one.
  static int CountInScope(Dwarf_Die scope, std::string_view name, int depth, int* budget,
                          bool* imports, int* placed, Dwarf_Die* found) {
    constexpr int kMaxScopes = 8;
    int declared = 0;
    Dwarf_Die child;
    for (int more = dwarf_child(&scope, &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--*budget < 0) return declared;
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_imported_module) {
        Dwarf_Die target = child;
        *imports |= !FollowReference(DW_AT_import, &target) || NameOf(&target) != nullptr;
        continue;
      }
      if (tag == DW_TAG_namespace && depth < kMaxScopes &&
          (NameOf(&child) == nullptr || dwarf_hasattr(&child, DW_AT_export_symbols) == 1)) {
        declared += CountInScope(child, name, depth + 1, budget, imports, placed, found);
        continue;
      }
      // The definition of what another scope declares, or a function's copy.
      if (dwarf_hasattr(&child, DW_AT_specification) == 1 ||
          dwarf_hasattr(&child, DW_AT_abstract_origin) == 1 || !DeclaresName(&child, name)) {
        continue;
      }
      ++declared;
      *found = child;
      if (tag == DW_TAG_variable && dwarf_hasattr(&child, DW_AT_location) == 1 &&
          !IsDeclaration(&child)) {
        ++*placed;
      }
    }
    return declared;
  }

  // Replaces the declaration of a variable in a scope by the definition, which GCC puts into the
  // unit. False: another unit has it.
  bool FindDefinition(Dwarf_Die* found) {
    int budget = 1 << 16;
    Dwarf_Die child;
    if (dwarf_tag(found) != DW_TAG_variable) return false;
    for (int more = dwarf_child(&scopes_->back(), &child); more == 0;
         more = dwarf_siblingof(&child, &child)) {
      if (--budget < 0) return false;
      Dwarf_Die declaration = child;
      if (dwarf_tag(&child) == DW_TAG_variable && dwarf_hasattr(&child, DW_AT_location) == 1 &&
          FollowReference(DW_AT_specification, &declaration) && declaration.addr == found->addr) {
        *found = child;
        return true;
      }
    }
    return false;
  }

  // Describes the variable, or the member of it that `members` leads to. Of what is asked for and
  // is a variable of the function without a place, the type is kLost.
  std::optional<DwarfVariable> Describe(Visible* root, std::span<const Step> members, bool asked) {
    DwarfVariable variable;
    variable.name = root->name;
    variable.asked = asked;
    variable.parameter = dwarf_tag(&root->die) == DW_TAG_formal_parameter;
    if (root->line && *root->line <= INT32_MAX) variable.line = static_cast<int>(*root->line);
    Dwarf_Attribute attribute;
    variable.exported = dwarf_attr_integrate(&root->die, DW_AT_external, &attribute) != nullptr;
    const bool placed = DescribePlace(&root->die, function_, vaddr_, &variable);
    variable.of_frame = variable.of_frame && members.empty();
    Dwarf_Die type;
    if (!FindType(&root->die, &type)) return std::nullopt;
    Dwarf_Die member;
    bool is_member = false;
    for (const Step& step : members) {
      if (!Enter(step.arrow, &type, &variable)) return std::nullopt;
      uint64_t offset = 0;
      if (!FindMember(type, step.name, &member, &offset) || !FindType(&member, &type)) {
        return std::nullopt;
      }
      AddOffset(offset, &variable);
      is_member = true;
    }
    const bool refers = IsReference(&type);
    if (refers) {
      FollowPointer(&variable);
      if (!FindType(&type, &type)) return std::nullopt;
    }
    if (asked) EnterAtomic(&type, &variable);
    const bool described = DescribeType(&type, &variable);
    if (!described && !(asked && DescribeVector(&type, &variable))) return std::nullopt;
    if (is_member && !DescribeBits(&member, &variable)) return std::nullopt;
    // Only a scalar fits into a register.
    if (placed && (described || !variable.in_register)) return variable;
    if (!asked || placed || !members.empty()) return std::nullopt;
    // What is computed of a reference is an address.
    if (!refers && described && variable.type != DwarfVariable::Type::kFloat &&
        DescribeComputation(&root->die, function_, vaddr_, &variable)) {
      return variable;
    }
    if (!root->local || variable.exported || IsDeclaration(&root->die) || !IsLost(&root->die)) {
      return std::nullopt;
    }
    variable.type = DwarfVariable::Type::kLost;
    return variable;
  }

  // Whether a variable has no place, or only a register that it had when the function was entered.
  bool IsLost(Dwarf_Die* die) const {
    const std::vector<Dwarf_Op> operations = Operations(die, DW_AT_location, vaddr_);
    return operations.empty() || std::ranges::any_of(operations, [](const Dwarf_Op& operation) {
             return operation.atom == DW_OP_entry_value || operation.atom == DW_OP_GNU_entry_value;
           });
  }

  // Follows a reference and a pointer to an object. `arrow`: there must be a pointer, or the object
  // has an operator that says what it points to.
  static bool Enter(bool arrow, Dwarf_Die* type, DwarfVariable* variable) {
    Dwarf_Die next;
    if (IsReference(type)) {
      FollowPointer(variable);
      if (!FindType(type, &next)) return false;
      *type = next;
    }
    if (dwarf_tag(type) == DW_TAG_pointer_type) {
      FollowPointer(variable);
      if (!FindType(type, &next)) return false;
      *type = next;
    } else if (arrow) {
      return false;
    }
    // An object in a register has no address.
    return IsObject(type) && !variable->in_register;
  }

  Dwarf_Die* function_;
  Dwarf_Die* level_;
  uint64_t vaddr_;
  std::vector<Visible> visible_;
  LocalNames names_;  // and, with `scopes_`, those of the functions around
  std::optional<std::vector<Dwarf_Die>> scopes_;
};

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
    std::vector<Visible> visible;
    CollectVisible(level, vaddr, line, 0, &visible);
    Describer describer(&function->die, &level, vaddr, std::move(visible));
    const size_t index = all.size();
    all.push_back(describer.All(index < asked.size() ? asked[index] : std::vector<std::string>()));
    const auto call_line = UnsignedAttribute(&level, DW_AT_call_line);
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
  if (depth > kMaxScopeDepth) return;
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
      if (within && depth < kMaxScopeDepth) scopes.emplace_back(child, depth + 1);
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
      if (const char* text = NameOf(&origin); text != nullptr) call.callee = text;
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
    const auto call_file = UnsignedAttribute(&*inlined, DW_AT_call_file);
    const auto call_line = UnsignedAttribute(&*inlined, DW_AT_call_line);
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
