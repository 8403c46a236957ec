// SPDX-License-Identifier: Apache-2.0
// The objects that the dynamic loader has mapped (the program and its libraries): their address
// ranges and their definitions of symbols.
#ifndef ROLLCALL_SHIM_LOADED_OBJECT_H_
#define ROLLCALL_SHIM_LOADED_OBJECT_H_

#include <link.h>

#include <cstdint>

namespace rollcall::shim {

// From the start of an object's first segment to the end of its last one.
struct CodeRange {
  uint64_t start = 0, end = 0;
  bool Contains(uint64_t pc) const { return pc >= start && pc < end; }
};

// The range of an object that dl_iterate_phdr(3) passes to its callback.
CodeRange RangeOf(const dl_phdr_info& object);
// The range of the object that contains `address`; empty if there is none. Takes the loader's lock.
CodeRange RangeAt(const void* address);

// Finds the definition of `symbol` in the scope of the loaded object with this file name. Returns
// nullptr if there is none, or if it is librollcall.so's own. Takes the loader's lock.
void* FindDefinition(const char* path, const char* symbol);
// The same for any loaded object.
void* FindDefinitionAnywhere(const char* symbol);
// The same for the loaded object that contains `address`.
void* FindDefinitionFrom(const void* address, const char* symbol);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_LOADED_OBJECT_H_
