// From an address to its rule, through the loaded modules: the slow way, on first sight.
#ifndef ROLLCALL_SHIM_STACK_MODULES_H_
#define ROLLCALL_SHIM_STACK_MODULES_H_

#include <cstdint>

#include "shim/stack/rule.h"

namespace rollcall::shim {

// What a look-up in the loaded modules gives.
struct ModuleRule {
  Rule rule;
  // Unloads since the process began, as the loader counts them (dlpi_subs; dl_iterate_phdr(3)). A
  // change says that rules may be stale, whoever unloaded.
  uint64_t unloads = 0;
};

// Finds what the loader offers; to be called once before the others. Not async-signal-safe.
void InitModules();

// Holds the loader's list lock while it reads, so that no module goes away meanwhile. The lock is
// recursive and not the one that is held while constructors run.
ModuleRule FindModuleRule(uint64_t pc);

// Whether a module is loaded at pc now. Without a lock, by _dl_find_object of glibc 2.35; an older
// glibc answers false: an address that was in no module then stays so until the next OnDlclose().
bool IsInLoadedModule(uint64_t pc);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_MODULES_H_
