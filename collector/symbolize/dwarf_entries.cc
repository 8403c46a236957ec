// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/dwarf_entries.h"

#include <dwarf.h>

namespace rollcall::dwarf {

std::optional<Dwarf_Word> UnsignedAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return std::nullopt;
  return value;
}

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

// In a damaged file, libdw may return a string that has no end: only dwarf_getattrs() checks that
// all attributes end in their section.
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

Dwarf_Die OriginOf(Dwarf_Die die) {
  constexpr int kMaxSteps = 4;  // with link-time optimization, an origin may have an origin
  for (int step = 0; step < kMaxSteps; ++step) {
    if (!FollowReference(DW_AT_abstract_origin, &die)) break;
  }
  return die;
}

Dwarf_Die DeclarationOf(const Dwarf_Die& function) {
  Dwarf_Die declaration = OriginOf(function);
  FollowReference(DW_AT_specification, &declaration);
  return declaration;
}

}  // namespace rollcall::dwarf
