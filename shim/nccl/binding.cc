// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/binding.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "shim/loaded_object.h"
#include "shim/nccl/targets.h"
#include "shim/platform.h"

namespace rollcall::shim::nccl {
namespace {

constinit Library g_library;

// Looks `name` up in the scope of the object that contains `caller`: the object itself and its
// dependencies.
void* FindLocal(const void* caller, const char* name) {
  Dl_info where;
  if (dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return FindDefinition(where.dli_fname, name);
}

Target* FindTarget(const char* name) {
  const TargetList list = AllTargets();
  for (uint32_t i = 0; i < list.count; ++i) {
    if (strcmp(list.targets[i]->name, name) == 0) return list.targets[i];
  }
  return nullptr;
}

}  // namespace

void* Target::Find(const void* caller) {
  const ErrnoGuard keeper;
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) found = FindLocal(caller, name);
  if (found == nullptr && g_library.core_start != 0) {
    found = FindLocal(reinterpret_cast<const void*>(g_library.core_start), name);
  }
  // The look-ups above go through our own dlsym, which may have returned the wrapper and stored its
  // real function.
  if (found == nullptr) found = function.load(std::memory_order_acquire);
  // A library that does not list its dependencies was bound in the scope of the object that loaded
  // it, and that object cannot be determined.
  if (found == nullptr) found = FindDefinitionAnywhere(name);
  if (found == nullptr) return function.load(std::memory_order_acquire);
  function.store(found, std::memory_order_release);
  return found;
}

bool MayHaveWrapper(const char* name) {
  return (name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l') ||
         (name[0] == 'p' && name[1] == 'n' && name[2] == 'c' && name[3] == 'c') ||
         (name[0] == 'c' && name[1] == 'u');
}

void* WrapperFor(const char* name, void* real) {
  Target* target = FindTarget(name);
  if (target == nullptr) return nullptr;
  void* known = nullptr;
  if (!target->function.compare_exchange_strong(known, real, std::memory_order_acq_rel) &&
      known != real) {
    return nullptr;
  }
  return target->wrapper();
}

bool IsWrapper(const char* name, const void* address) {
  const Target* target = FindTarget(name);
  return target != nullptr && target->wrapper() == address;
}

Library* NcclLibrary() { return &g_library; }

void SetNcclCode(const void* function) {
  if (__atomic_load_n(&g_library.core_end, __ATOMIC_ACQUIRE) != 0) return;
  const ErrnoGuard keeper;
  Dl_info where;
  if (dladdr(function, &where) == 0) return;
  const CodeRange range = RangeAt(function);
  g_library.core_start = range.start;
  __atomic_store_n(&g_library.core_end, range.end, __ATOMIC_RELEASE);
}

bool IsInsideNccl(const void* address) {
  const auto word = reinterpret_cast<uint64_t>(address);
  return word < __atomic_load_n(&g_library.core_end, __ATOMIC_ACQUIRE) &&
         word >= g_library.core_start;
}

}  // namespace rollcall::shim::nccl
