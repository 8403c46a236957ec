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

// Looked up when the library is loaded: a child that was forked while another thread had the
// dynamic linker's lock must call nothing that takes that lock before it exits.
[[maybe_unused]] struct Loaded {
  pid_t pid = getpid();
  void (*exit)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit"));
} g_loaded;

// MPI ends a process that calls it before MPI_Init, and nothing is recorded until then. Start()
// installs the marks, which the exit then finds. Launchers and their daemons exit from other
// libraries of MPI.
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
// Open MPI exits by _exit after a fatal error, which runs no handlers. A vfork child also calls it,
// in our memory: MayMarkExit compares the pid. The next _exit was looked up when recording began,
// since _exit may be called where dlsym must not be (signal handlers, vfork). If none was found,
// the system call is made directly.
namespace {
[[noreturn]] void Leave(int status, const void* caller, rollcall::shim::CallerFrame frame) {
  rollcall::shim::StartIfByMpi(caller);
  rollcall::shim::Mark(rollcall::ring::ExitMark::kQuickExit, status, frame);
  if (rollcall::shim::g_next_exit != nullptr) rollcall::shim::g_next_exit(status);
  for (;;) syscall(SYS_exit_group, status);
}
}  // namespace

extern "C" {
// The handlers mark the exit: this only sees who calls.
ROLLCALL_EXPORT __attribute__((noreturn)) void exit(int status) {
  rollcall::shim::StartIfByMpi(__builtin_return_address(0));
  // A library's constructor may exit before this library's have run.
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

// MPICH tells its launcher of a fatal error, which kills the process before it calls exit(). Every
// error of a communicator or window passes one of these two functions first, which the library
// calls by its symbol, with the error code in the third argument (src/mpi/errhan/errutil.c). They
// are not of MPI's interface: all registers that may hold arguments are passed on.
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
  rollcall::shim::Library* library = nullptr;
  const auto next = reinterpret_cast<Next>(function->Get(caller, &library));
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
