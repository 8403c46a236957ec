// SPDX-License-Identifier: Apache-2.0
// Reads what the kernel reports about a process, from outside and without stopping it. Fields and
// units: proc(5), and Documentation/filesystems/proc.rst of the kernel.
#ifndef ROLLCALL_COLLECTOR_LIVE_PROCESS_STATE_H_
#define ROLLCALL_COLLECTOR_LIVE_PROCESS_STATE_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/base/result.h"

namespace rollcall {

enum class RunState : uint8_t {
  kUnknown,
  kRunning,   // on a CPU, or waiting for one
  kSleeping,  // in an interruptible wait
  kDiskWait,  // in an uninterruptible wait: disk, network file system, a driver
  kStopped,   // by a signal (Ctrl-Z, SIGSTOP)
  kTraced,    // stopped by a debugger
  kZombie,    // ended, not yet waited for
  kDead,
  kIdle,  // kernel threads only
};

const char* RunStateName(RunState state);  // "running", "disk wait", …; static storage

// The system call that a thread is blocked in.
struct BlockedCall {
  int64_t number = -1;  // -1: blocked, but not in a system call (a page fault, say)
  std::array<uint64_t, 6> arguments{};
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;
  bool operator==(const BlockedCall&) const = default;
};

struct ThreadState {
  pid_t tid = 0;
  std::string name;
  RunState state = RunState::kUnknown;
  uint64_t user_ns = 0;      // in steps of a clock tick, usually 10 ms
  uint64_t system_ns = 0;    // in the same steps
  uint64_t cpu_ns = 0;       // user and system; exact where the kernel keeps schedstat
  uint64_t start_ticks = 0;  // clock ticks since boot
  std::string wchan;         // kernel function it sleeps in; empty: none, or not visible
  // Requires permission to ptrace the thread; empty otherwise, and while it runs.
  std::optional<BlockedCall> blocked_call;
};

struct ProcessState {
  pid_t pid = 0;
  pid_t parent_pid = 0;
  pid_t tracer_pid = 0;  // of the debugger that holds it; 0: none
  std::string name;
  RunState state = RunState::kUnknown;  // of the main thread, which may end before the others
  uint64_t user_ns = 0;                 // of all threads, including threads that have ended
  uint64_t system_ns = 0;
  // pid and start time together identify a process until the next boot.
  uint64_t start_ticks = 0;
  uint64_t sampled_ns = 0;           // CLOCK_MONOTONIC, when reading began
  std::vector<ThreadState> threads;  // by tid
};

// The same thread as `wanted` in another state of its process; nullptr if it does not exist there.
// Compares the start time as well because thread ids are reused.
const ThreadState* FindSame(const ProcessState& process, const ThreadState& wanted);

// Reads /proc/<pid>. An error if the process has ended, if its start time is not
// `expected_start_ticks` (0: any; pids are reused), or if access is denied. Leaves out threads that
// end meanwhile.
Result<ProcessState> ReadProcessState(const ProcSource& proc, pid_t pid,
                                      uint64_t expected_start_ticks);

// Times that one thread has spent on a processor, and waiting for one.
struct ThreadTimes {
  uint64_t cpu_ns = 0;   // exact where the kernel keeps schedstat, else in steps of a clock tick
  uint64_t wait_ns = 0;  // ready to run while others ran; 0 where the kernel does not keep it
};

// Returns nothing if the thread has ended or access is denied.
std::optional<ThreadTimes> ReadThreadTimes(const ProcSource& proc, pid_t pid, pid_t tid);

// Bytes that the process has read and written so far by read(2), write(2) and similar calls,
// including sockets and pipes, but not by send(2) and recv(2) (/proc/<pid>/io: rchar, wchar;
// proc(5)). Returns nothing if it has ended or access is denied: requires permission to ptrace it.
std::optional<uint64_t> ReadIoBytes(const ProcSource& proc, pid_t pid);

// The state of one thread of a process.
std::optional<ThreadState> ReadThreadState(const ProcSource& proc, pid_t pid, pid_t tid);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PROCESS_STATE_H_
