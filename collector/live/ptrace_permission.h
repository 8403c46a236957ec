// SPDX-License-Identifier: Apache-2.0
// Explains why access to a process is denied, and which setting would allow it.
#ifndef ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_
#define ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_

#include <sys/types.h>

#include <string>

#include "collector/base/proc_source.h"

namespace rollcall {

// Readable text: the reason why access to `pid` is denied, the value found, and the exact change
// that permits access. ptrace and process_vm_readv make the same check (see "Ptrace access mode
// checking" in ptrace(2)). Examines the tracer, the owner, capabilities, kernel.yama.ptrace_scope
// and seccomp, in this order.
std::string ExplainPtraceDenied(const ProcSource& proc, pid_t pid);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PTRACE_PERMISSION_H_
