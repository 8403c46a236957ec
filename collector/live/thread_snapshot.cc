// SPDX-License-Identifier: Apache-2.0
#include "collector/live/thread_snapshot.h"

#include <elf.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#ifndef __WALL
#define __WALL 0x40000000
#endif

namespace rollcall {
namespace {

// Enough for a Python program some thousand calls deep. The copy begins at the stack pointer, so
// the frames that may be missing are those near main().
constexpr size_t kMaxStackBytes = 1 << 20;
constexpr size_t kMaxVectorBytes = 1 << 14;  // AMX's tiles take half of it
constexpr uint64_t kRedZoneBytes = 128;      // System V x86-64 ABI, 3.2.2: leaf functions use it

#if defined(__aarch64__)
void FromKernel(const user_regs_struct& regs, ThreadSnapshot* snapshot) {
  for (int i = 0; i < 31; ++i) snapshot->registers[i] = regs.regs[i];
  snapshot->registers[31] = regs.sp;
  snapshot->pc = regs.pc;
}
#else
void FromKernel(const user_regs_struct& regs, ThreadSnapshot* snapshot) {
  // The DWARF numbers of the registers: System V x86-64 ABI, figure 3.36.
  snapshot->registers = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi,
                         regs.rbp, regs.rsp, regs.r8,  regs.r9,  regs.r10, regs.r11,
                         regs.r12, regs.r13, regs.r14, regs.r15, regs.rip};
  snapshot->pc = regs.rip;
  snapshot->thread_pointer = regs.fs_base;
}
#endif

// Whether a blocked thread has stayed in its wait: it may have woken up and blocked again.
bool SameWait(const ThreadState& a, const ThreadState& b) {
  return a.state == b.state && a.blocked_call == b.blocked_call && a.cpu_ns == b.cpu_ns &&
         a.start_ticks == b.start_ticks;
}

}  // namespace

PtraceFunction RealPtrace() {
  return [](int request, pid_t tid, void* address, void* data) {
    return ::ptrace(static_cast<__ptrace_request>(request), tid, address, data);
  };
}

std::vector<char> SnapshotTaker::ReadVectors(pid_t tid) const {
  std::vector<char> bytes(kMaxVectorBytes);
#if defined(__aarch64__)
  constexpr intptr_t kSets[] = {NT_PRFPREG};
#else
  constexpr intptr_t kSets[] = {NT_X86_XSTATE, NT_PRFPREG};
#endif
  for (const intptr_t set : kSets) {
    iovec io{bytes.data(), bytes.size()};
    if (ptrace_(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(set), &io) != 0) continue;
    bytes.resize(io.iov_len);
    return bytes;
  }
  return {};
}

void SnapshotTaker::CopyStack(ThreadSnapshot* snapshot) const {
  const uint64_t sp = snapshot->stack_pointer();
  const uint64_t end = image_->MappingEnd(sp);
  if (end == 0) return;
  snapshot->stack_start = sp - std::min(sp, kRedZoneBytes);
  const uint64_t wanted = end - snapshot->stack_start;
  snapshot->stack.resize(std::min<uint64_t>(wanted, kMaxStackBytes));
  snapshot->stack_cut = wanted > kMaxStackBytes;
  size_t got =
      image_->memory().Read(snapshot->stack_start, snapshot->stack.data(), snapshot->stack.size());
  if (got == 0 && snapshot->stack.size() > kRedZoneBytes) {
    // The red zone may reach below what is mapped.
    snapshot->stack_start = sp;
    snapshot->stack.resize(std::min<uint64_t>(end - sp, kMaxStackBytes));
    got = image_->memory().Read(sp, snapshot->stack.data(), snapshot->stack.size());
  }
  snapshot->stack.resize(got);
}

std::optional<ThreadSnapshot> SnapshotTaker::TakeBlocked(pid_t tid,
                                                         const SnapshotCallback& also) const {
  const auto before = ReadThreadState(*proc_, pid_, tid);
  if (!before || !before->blocked_call || before->state == RunState::kRunning) return std::nullopt;
  ThreadSnapshot snapshot;
  snapshot.tid = tid;
  snapshot.pc = before->blocked_call->program_counter;
  snapshot.registers[ThreadSnapshot::kStackPointer] = before->blocked_call->stack_pointer;
  if (snapshot.pc == 0 || snapshot.stack_pointer() == 0) return std::nullopt;
  CopyStack(&snapshot);
  if (also) also(snapshot);
  const auto after = ReadThreadState(*proc_, pid_, tid);
  if (snapshot.stack.empty() || !after || !SameWait(*before, *after)) return std::nullopt;
  return snapshot;
}

bool SnapshotTaker::WaitUntilStopped(pid_t tid, std::chrono::steady_clock::time_point deadline,
                                     int* signal) const {
  for (int round = 0;; ++round) {
    // WSTOPPED without WEXITED: the thread may be the main thread of a child of this process. Its
    // exit status must be left for the code that waits for that child.
    siginfo_t ended{};
    const bool told =
        waitid(P_PID, static_cast<id_t>(tid), &ended, WSTOPPED | WNOHANG | __WALL) == 0 &&
        ended.si_pid == tid;
    // Another thread of this process that waits for any child may have received the report instead.
    // The kernel answers PTRACE_GETSIGINFO only for a stopped thread.
    siginfo_t why{};
    if (ptrace_(PTRACE_GETSIGINFO, tid, nullptr, &why) == 0) {
      // The thread was stopped by a signal on its way to the thread, which must not be lost, or by
      // this tracer (or by job control, which resuming does not undo).
      *signal = (why.si_code >> 8) == PTRACE_EVENT_STOP ? 0 : why.si_signo;
      return true;
    }
    if (told && errno == EINVAL) {
      *signal = 0;
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (round < 20) {
      sched_yield();
    } else {
      const timespec pause{0, 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

std::optional<ThreadSnapshot> SnapshotTaker::TakeStopped(
    pid_t tid, std::chrono::steady_clock::time_point deadline, int* error_number,
    const SnapshotCallback& also) const {
  if (ptrace_(PTRACE_SEIZE, tid, nullptr, nullptr) != 0 ||
      ptrace_(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) {
    *error_number = errno;
    return std::nullopt;
  }
  int signal = 0;
  if (!WaitUntilStopped(tid, deadline, &signal)) {
    *error_number = ETIMEDOUT;
    return std::nullopt;
  }
  ThreadSnapshot snapshot;
  snapshot.tid = tid;
  user_regs_struct regs{};
  iovec io{&regs, sizeof(regs)};
  const bool have_registers =
      ptrace_(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(NT_PRSTATUS), &io) == 0;
  *error_number = errno;
  if (have_registers) {
    FromKernel(regs, &snapshot);
    snapshot.all_registers = true;
    snapshot.vectors = ReadVectors(tid);
    CopyStack(&snapshot);
    if (also) also(snapshot);
  }
  ptrace_(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(static_cast<intptr_t>(signal)));
  if (!have_registers) return std::nullopt;
  return snapshot;
}

}  // namespace rollcall
