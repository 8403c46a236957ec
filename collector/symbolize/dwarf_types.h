// SPDX-License-Identifier: Apache-2.0
// Types of variables, their members, and the places of their values, in debug information. The
// functions named Describe… complete a variable; false: it is of no kind that can be shown.
#ifndef ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_TYPES_H_
#define ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_TYPES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/symbolize/dwarf_variable.h"

namespace rollcall::dwarf {

// Follows typedefs and qualifiers from what `of` refers to.
bool FindType(Dwarf_Die* of, Dwarf_Die* type);

// Whether a variable is declared const. Not if only what it points to is.
bool IsConst(Dwarf_Die* variable);

bool IsReference(Dwarf_Die* type);

bool DescribeType(Dwarf_Die* type, DwarfVariable* variable);

// The operations of an attribute that hold at `vaddr`; empty if there are none, or several lists.
std::vector<Dwarf_Op> Operations(Dwarf_Die* die, unsigned name, uint64_t vaddr);

bool DescribePlace(Dwarf_Die* die, Dwarf_Die* function, uint64_t vaddr, DwarfVariable* variable);

// Sets the expression that computes the variable's value. False: it has none.
bool DescribeComputation(Dwarf_Die* die, Dwarf_Die* function, uint64_t vaddr,
                         DwarfVariable* variable);

// The place changes from that of a pointer, or of a reference, to what it refers to.
void FollowPointer(DwarfVariable* variable);

// The place changes from that of an object to that of its member.
void AddOffset(uint64_t bytes, DwarfVariable* variable);

bool IsObject(Dwarf_Die* type);

bool IsDeclaration(Dwarf_Die* die);

// Finds a member of an object's type, of its base classes and of its members without a name. Sets
// `*offset` to its place in the object.
bool FindMember(Dwarf_Die type, std::string_view name, Dwarf_Die* member, uint64_t* offset);

// Whether a child of the DIE has the name. An enumeration without a scope declares its enumerators
// next to itself.
bool DeclaresName(Dwarf_Die* child, std::string_view name);

// Whether the name may be that of a member of any kind; so, too, if not all members are known.
bool MayHaveMember(Dwarf_Die type, std::string_view name, int depth, int* budget);

// Describes a bit field. False: its place is unknown.
bool DescribeBits(Dwarf_Die* member, DwarfVariable* variable);

// Describes a std::vector of libstdc++, which is recognized by the names of its members.
bool DescribeVector(Dwarf_Die* type, DwarfVariable* variable);

// Changes an std::atomic of libstdc++ to the value in it.
void EnterAtomic(Dwarf_Die* type, DwarfVariable* variable);

}  // namespace rollcall::dwarf

#endif  // ROLLCALL_COLLECTOR_SYMBOLIZE_DWARF_TYPES_H_
