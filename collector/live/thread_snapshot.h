// SPDX-License-Identifier: Apache-2.0
// Takes a thread's registers and a copy of its stack, which can be unwound later.
#ifndef ROLLCALL_COLLECTOR_LIVE_THREAD_SNAPSHOT_H_
#define ROLLCALL_COLLECTOR_LIVE_THREAD_SNAPSHOT_H_

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/base/proc_source.h"
#include "collector/live/process_image.h"
#include "collector/live/process_state.h"

namespace rollcall {

struct ThreadSnapshot {
#if defined(__aarch64__)
  static constexpr int kRegisters = 32;  // x0 to x30, sp: DWARF's numbers
  static constexpr int kStackPointer = 31;
#else
  static constexpr int kRegisters = 17;  // DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15 rip
  static constexpr int kStackPointer = 7;
#endif
  pid_t tid = 0;
  std::array<uint64_t, kRegisters> registers{};
  bool all_registers = false;  // false: only the stack pointer and the pc are known
  // Floating-point and vector registers as the kernel gives them; empty: unknown, and always where
  // !all_registers.
  std::vector<char> vectors;
  uint64_t pc = 0;
  uint64_t thread_pointer = 0;  // fs_base; 0: unknown, as on aarch64
  uint64_t stack_start = 0;
  std::vector<char> stack;  // contents from stack_start upwards
  bool stack_cut = false;   // the stack is larger than the copy

  uint64_t stack_pointer() const { return registers[kStackPointer]; }
};

// ptrace(2); replaced by tests. Returns like that function, and sets errno.
using PtraceFunction = std::function<long(int request, pid_t tid, void* address, void* data)>;
PtraceFunction RealPtrace();

// Called with a snapshot while its thread does not move, to read other data of the same moment. If
// the thread was stopped, the job waits for this function, so its running time must be bounded.
using SnapshotCallback = std::function<void(const ThreadSnapshot&)>;

// Takes snapshots. Construct, use and destroy it in one thread that ends soon afterwards: tracing
// is bound to a thread, and only the end of the tracing thread releases a thread that did not stop
// in time.
class SnapshotTaker {
 public:
  SnapshotTaker(const ProcSource* proc, const ProcessImage* image, pid_t pid, PtraceFunction ptrace)
      : proc_(proc), image_(image), pid_(pid), ptrace_(std::move(ptrace)) {}

  // Snapshots a blocked thread without stopping or otherwise affecting it. The stack pointer and
  // the pc come from /proc/<pid>/task/<tid>/syscall, the stack from process_vm_readv(2). Empty if
  // the thread runs, if it moved meanwhile, or if access is denied; in these cases discard the data
  // that `also` has read.
  std::optional<ThreadSnapshot> TakeBlocked(pid_t tid, const SnapshotCallback& also = {}) const;

  // Snapshots any thread, by PTRACE_SEIZE and PTRACE_INTERRUPT. The thread is stopped while its
  // registers and stack are copied (about ten microseconds) and `also` runs. Afterwards it
  // continues as before: a pending signal is delivered, a thread that SIGSTOP had stopped stays
  // stopped, and an interrupted call restarts. (Some calls do not restart: the caller must check
  // FailsWhenStopped() first.) Sends no signal and reaps no child. If this process dies, the kernel
  // resumes the stopped threads (ptrace(2), "If the tracer dies").
  //
  // Gives up at `deadline`. On failure `*error_number` is the errno of ptrace: EPERM; ESRCH for a
  // thread that has ended; ETIMEDOUT if it did not stop.
  std::optional<ThreadSnapshot> TakeStopped(pid_t tid,
                                            std::chrono::steady_clock::time_point deadline,
                                            int* error_number,
                                            const SnapshotCallback& also = {}) const;

 private:
  void CopyStack(ThreadSnapshot* snapshot) const;
  std::vector<char> ReadVectors(pid_t tid) const;
  bool WaitUntilStopped(pid_t tid, std::chrono::steady_clock::time_point deadline,
                        int* signal) const;

  const ProcSource* proc_;
  const ProcessImage* image_;
  pid_t pid_;
  PtraceFunction ptrace_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_THREAD_SNAPSHOT_H_
