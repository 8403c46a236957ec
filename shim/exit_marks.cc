// SPDX-License-Identifier: Apache-2.0
#include "shim/exit_marks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/call_paths.h"
#include "shim/job_environment.h"
#include "shim/library.h"
#include "shim/process.h"

namespace rollcall::shim {
namespace {

void Mark(ring::ExitMark mark, int status, CallerFrame frame) {
  if (!MayMarkExit()) return;
  const ErrnoGuard keeper;
  MarkExit(mark, status, CurrentCallPath(frame).id);
}

// The stack of an exit handler still contains the caller of exit().
void OnExit(int status, void*) { Mark(ring::ExitMark::kExit, status, ROLLCALL_CALLER_FRAME()); }

// Looked up when the library is loaded. A child may be forked while another thread holds the
// dynamic linker's lock; until it exits, it must not call a function that takes this lock.
[[maybe_unused]] struct Loaded {
  pid_t pid = getpid();
  void (*exit)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"));
} g_loaded;

// MPI ends a process that calls an MPI function before MPI_Init, when recording has not started. In
// this case Start() makes the ring and installs the marks, so that the exit is recorded. Launchers
// and their daemons exit from other libraries of MPI than libmpi and are not recorded.
[[maybe_unused]] void StartIfByMpi(const void* caller) {
  if (Recording() || EarlyRank() < 0 || getpid() != g_loaded.pid) return;
  if (IsInMpiItself(caller)) Start();
}

void OnQuickExit() { Mark(ring::ExitMark::kQuickExit, -1, ROLLCALL_CALLER_FRAME()); }

}  // namespace

[[maybe_unused]] static void (*g_next_exit)(int) = nullptr;

void InstallExitMarks() {
  g_next_exit = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"));
  // on_exit (glibc) passes the exit status, which atexit does not.
  on_exit(OnExit, nullptr);
  at_quick_exit(OnQuickExit);
}

}  // namespace rollcall::shim

#ifndef ROLLCALL_NO_EXPORTS
// After a fatal error, Open MPI calls _exit, which runs no handlers. A vfork child, which shares
// our memory, also calls _exit: MayMarkExit compares the pid. The next _exit is looked up when
// recording begins, because _exit may be called where dlsym must not be called (signal handlers,
// vfork). If no next _exit was found, the system call is made directly.
namespace {
[[noreturn]] void Leave(int status, const void* caller, rollcall::shim::CallerFrame frame) {
  rollcall::shim::StartIfByMpi(caller);
  rollcall::shim::Mark(rollcall::ring::ExitMark::kQuickExit, status, frame);
  if (rollcall::shim::g_next_exit != nullptr) rollcall::shim::g_next_exit(status);
  for (;;) syscall(SYS_exit_group, status);
}
}  // namespace

extern "C" {
// Only starts the recording if MPI is the caller. The handlers mark the exit.
ROLLCALL_EXPORT __attribute__((noreturn)) void exit(int status) {
  rollcall::shim::StartIfByMpi(__builtin_return_address(0));
  // The constructor of another library may call exit() before g_loaded was initialised.
  auto next = rollcall::shim::g_loaded.exit;
  if (next == nullptr) next = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"));
  if (next != nullptr) next(status);
  _exit(status);
}
ROLLCALL_EXPORT __attribute__((noreturn)) void _exit(int status) {
  Leave(status, __builtin_return_address(0), ROLLCALL_CALLER_FRAME());
}
ROLLCALL_EXPORT __attribute__((noreturn)) void _Exit(int status) {
  Leave(status, __builtin_return_address(0), ROLLCALL_CALLER_FRAME());
}
}

// MPICH reports a fatal error to its launcher, which kills the process before the process calls
// exit(). Before that, MPICH calls one of these two functions for every error of a communicator or
// window. It calls them by their symbols, with the error code in the third argument
// (src/mpi/errhan/errutil.c). The functions are not part of MPI's interface: the wrappers pass on
// all registers that may hold arguments.
namespace {
rollcall::shim::NextFunction g_return_comm{"MPIR_Err_return_comm"};
rollcall::shim::NextFunction g_return_win{"MPIR_Err_return_win"};

struct Words {
  uint64_t a, b, c, d, e, f;
};

uint64_t ReturnError(rollcall::shim::NextFunction* function, const void* caller,
                     rollcall::shim::CallerFrame frame, const Words& words) {
  const auto code = static_cast<int>(words.c);
  if (code != 0 && rollcall::shim::MayMarkExit()) {
    const rollcall::shim::ErrnoGuard keeper;
    rollcall::shim::NoteError(code, rollcall::shim::CurrentCallPath(frame).id);
  }
  using Next = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  const auto next = reinterpret_cast<Next>(function->Get(caller).function);
  if (next == nullptr) return words.c;
  return next(words.a, words.b, words.c, words.d, words.e, words.f);
}
}  // namespace

extern "C" {
ROLLCALL_EXPORT uint64_t MPIR_Err_return_comm(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                              uint64_t e, uint64_t f) {
  return ReturnError(&g_return_comm, __builtin_return_address(0), ROLLCALL_CALLER_FRAME(),
                     {a, b, c, d, e, f});
}
ROLLCALL_EXPORT uint64_t MPIR_Err_return_win(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                             uint64_t e, uint64_t f) {
  return ReturnError(&g_return_win, __builtin_return_address(0), ROLLCALL_CALLER_FRAME(),
                     {a, b, c, d, e, f});
}
}
#endif
