// The address ranges of the objects that the dynamic loader has mapped: the program and its
// libraries.
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

// The range of the object that dl_iterate_phdr(3) is at.
CodeRange RangeOf(const dl_phdr_info& object);
// The range of the object that contains `address`; empty if there is none. Takes the loader's lock.
CodeRange RangeAt(const void* address);

// The definition of `symbol` in the scope of the loaded object with this file name, or in any
// loaded object; nullptr if there is none, or if it is librollcall.so's own. Takes the loader's
// lock.
void* FindDefinition(const char* path, const char* symbol);
void* FindDefinitionAnywhere(const char* symbol);
// In the scope of the loaded object that contains `address`.
void* FindDefinitionFrom(const void* address, const char* symbol);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_LOADED_OBJECT_H_
