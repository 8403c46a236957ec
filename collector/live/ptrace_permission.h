// Why a process may not be looked into, and which setting would allow it.
#ifndef ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_
#define ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_

#include <sys/types.h>

#include <string>

#include "collector/base/proc_source.h"

namespace rollcall {

// For a person: what refused access to `pid` (ptrace and process_vm_readv ask the same question,
// see "Ptrace access mode checking" in ptrace(2)), the value seen, and the exact change that lifts
// it. Looks at the tracer, the owner, capabilities, kernel.yama.ptrace_scope and seccomp, in this
// order.
std::string ExplainPtraceDenied(const ProcSource& proc, pid_t pid);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_
