// SPDX-License-Identifier: Apache-2.0
// Looks up the rule of an address in the loaded modules. Slow: used only when an address is seen
// for the first time.
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

// Holds the loader's lock of its list of objects while it reads, so that no module is unloaded
// during the call. This lock is recursive, and it is not the lock that is held while constructors
// run.
ModuleRule FindModuleRule(uint64_t pc);

// True if a module is loaded at pc now. Lock-free, by _dl_find_object of glibc 2.35. Always false
// with an older glibc: there, an address that was in no module counts as being in no module until
// the next OnDlclose().
bool IsInLoadedModule(uint64_t pc);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_STACK_MODULES_H_
