// SPDX-License-Identifier: Apache-2.0
// The attributes of the entries (DIEs) of debug information, and the entries that they refer to.
// A damaged file leads to missing answers.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_ENTRIES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_ENTRIES_H_

#include <elfutils/libdw.h>

#include <optional>

namespace rollcall::dwarf {

inline constexpr int kMaxScopeDepth = 200;  // of nested scopes; trees of real programs reach 30

std::optional<Dwarf_Word> UnsignedAttribute(Dwarf_Die* die, unsigned name);

// Replaces a DIE by the one that it refers to. False: there is none.
bool FollowReference(unsigned reference, Dwarf_Die* die);

// The name of a DIE, or of the one that it is an instance of; nullptr if it has none. Owned by the
// Dwarf.
const char* NameOf(Dwarf_Die* die);

// The DIE of which an inlined or a concrete one is an instance; else the DIE itself.
Dwarf_Die OriginOf(Dwarf_Die die);

// The DIE of a function whose parents are the scopes around the function.
Dwarf_Die DeclarationOf(const Dwarf_Die& function);

}  // namespace rollcall::dwarf

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_ENTRIES_H_
