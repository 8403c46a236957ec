// SPDX-License-Identifier: Apache-2.0
// Names of the system calls that a thread can be found blocked in.
#ifndef ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_
#define ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_

#include <cstdint>
#include <string>

namespace rollcall {

// "read", "futex", …; "system call 123" for unknown ones. Numbers are those of the architecture
// that this is compiled for.
std::string SyscallName(int64_t number);

// True for calls that fail with EINTR when their thread is stopped and resumed, even without a
// signal handler: signal(7), "Interruption of system calls and library functions by stop signals".
// A debugger's stop has this effect. Threads in these calls must not be stopped, because the
// program may treat the error as a failure. Socket calls are included because the socket may have a
// time-out.
bool FailsWhenStopped(int64_t number);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_
