#include "shim/exit_marks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/call_paths.h"
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
[[noreturn]] void Leave(int status, rollcall::shim::CallerFrame frame) {
  rollcall::shim::Mark(rollcall::ring::ExitMark::kQuickExit, status, frame);
  if (rollcall::shim::g_next_exit != nullptr) rollcall::shim::g_next_exit(status);
  for (;;) syscall(SYS_exit_group, status);
}
}  // namespace

extern "C" {
ROLLCALL_EXPORT __attribute__((noreturn)) void _exit(int status) {
  Leave(status, ROLLCALL_CALLER_FRAME());
}
ROLLCALL_EXPORT __attribute__((noreturn)) void _Exit(int status) {
  Leave(status, ROLLCALL_CALLER_FRAME());
}
}
#endif
