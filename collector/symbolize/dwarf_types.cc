// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_types.h"

#include <dwarf.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "collector/symbolize/dwarf_entries.h"

namespace rollcall::dwarf {
namespace {

// Follows typedefs and qualifiers from what `of` refers to. Sets `*is_const` if one is const.
bool FollowType(Dwarf_Die* of, Dwarf_Die* type, bool* is_const) {
  constexpr int kMaxSteps = 32;
  Dwarf_Attribute attribute;
  if (dwarf_formref_die(dwarf_attr_integrate(of, DW_AT_type, &attribute), type) == nullptr) {
    return false;
  }
  for (int step = 0; step < kMaxSteps; ++step) {
    switch (dwarf_tag(type)) {
      case DW_TAG_const_type:
        *is_const = true;
        break;
      case DW_TAG_typedef:
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

}  // namespace

bool FindType(Dwarf_Die* of, Dwarf_Die* type) {
  bool is_const = false;
  return FollowType(of, type, &is_const);
}

bool IsConst(Dwarf_Die* variable) {
  bool is_const = false;
  Dwarf_Die type;
  return FollowType(variable, &type, &is_const) && is_const;
}
bool IsReference(Dwarf_Die* type) {
  const int tag = dwarf_tag(type);
  return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
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

void FollowPointer(DwarfVariable* variable) {
  if (variable->in_register) {
    variable->in_register = false;
    variable->offset = 0;
  } else {
    variable->further.push_back(0);
  }
}

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

bool FindMember(Dwarf_Die type, std::string_view name, Dwarf_Die* member, uint64_t* offset) {
  int budget = 1 << 14;  // a damaged type may have many members of its own type
  return FindMemberWithin(type, name, 0, &budget, member, offset);
}

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

}  // namespace rollcall::dwarf
