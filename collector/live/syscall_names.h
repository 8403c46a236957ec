// Names of the system calls that a thread can be found blocked in.
#ifndef ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_
#define ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_

#include <cstdint>
#include <string>

namespace rollcall {

// "read", "futex", …; "system call 123" for others; of the architecture this is compiled for.
std::string SyscallName(int64_t number);

// True for calls that fail with EINTR when their thread is stopped and resumed, without any signal
// handler: signal(7), "Interruption of system calls and library functions by stop signals". A
// debugger's stop is such a stop, so these threads must not be stopped: the program may take the
// error for a failure. Calls on sockets are among them because a time-out may be set on the socket.
bool FailsWhenStopped(int64_t number);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_SYSCALL_NAMES_H_
