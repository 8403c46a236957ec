// SPDX-License-Identifier: Apache-2.0
#include "shim/loaded_object.h"

#include <dlfcn.h>

namespace rollcall::shim {
namespace {

bool IsOurs(const void* address) {
  Dl_info self, other;
  return dladdr(reinterpret_cast<const void*>(&IsOurs), &self) != 0 &&
         dladdr(address, &other) != 0 && self.dli_fbase == other.dli_fbase;
}

}  // namespace

CodeRange RangeOf(const dl_phdr_info& object) {
  CodeRange range{~uint64_t{0}, 0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t from = object.dlpi_addr + segment.p_vaddr;
    if (from < range.start) range.start = from;
    if (from + segment.p_memsz > range.end) range.end = from + segment.p_memsz;
  }
  return range;
}

CodeRange RangeAt(const void* address) {
  struct Wanted {
    uint64_t inside;
    CodeRange range;
  } wanted{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* asked = static_cast<Wanted*>(data);
        const CodeRange range = RangeOf(*info);
        if (!range.Contains(asked->inside)) return 0;
        asked->range = range;
        return 1;
      },
      &wanted);
  return wanted.range;
}

void* FindDefinition(const char* path, const char* symbol) {
  void* object = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (object == nullptr) return nullptr;
  void* found = dlsym(object, symbol);
  dlclose(object);  // the object stays loaded: only this function's reference is given back
  return found == nullptr || IsOurs(found) ? nullptr : found;
}

void* FindDefinitionAnywhere(const char* symbol) {
  void* program = dlopen(nullptr, RTLD_NOLOAD | RTLD_LAZY);
  void* found = nullptr;
  for (const auto* map = static_cast<link_map*>(program); map != nullptr && found == nullptr;
       map = map->l_next) {
    if (map->l_name == nullptr || map->l_name[0] == '\0') continue;
    found = FindDefinition(map->l_name, symbol);
  }
  if (program != nullptr) dlclose(program);
  return found;
}

void* FindDefinitionFrom(const void* address, const char* symbol) {
  Dl_info object;
  if (dladdr(address, &object) == 0 || object.dli_fname == nullptr) return nullptr;
  return FindDefinition(object.dli_fname, symbol);
}

}  // namespace rollcall::shim
