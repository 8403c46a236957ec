// Looks up an address' rule in the loaded modules. Slow; used when an address is seen for the first
// time.
#ifndef ROLLCALL_SHIM_STACK_MODULES_H_
#define ROLLCALL_SHIM_STACK_MODULES_H_

#include <cstdint>

#include "shim/stack/rule.h"

namespace rollcall::shim {

// The result of a look-up in the loaded modules.
struct ModuleRule {
  Rule rule;
  // The loader's count of unloads since the process began (dlpi_subs; dl_iterate_phdr(3)). If it
  // has changed, rules may be stale.
  uint64_t unloads = 0;
};

// Looks up the loader's functions. Call it once before the others. Not async-signal-safe.
void InitModules();

// Holds the loader's list lock while it reads, so that no module is unloaded during the call. The
// lock is recursive, and is not the one that is held while constructors run.
ModuleRule FindModuleRule(uint64_t pc);

// True if a module is loaded at pc now. Lock-free, by _dl_find_object of glibc 2.35. Always false
// with an older glibc: there, an address that was in no module stays so until the next OnDlclose().
bool IsInLoadedModule(uint64_t pc);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_MODULES_H_
