// SPDX-License-Identifier: Apache-2.0
// Records in the ring how the process exits (exit, return from main, quick_exit, _exit).
#ifndef ROLLCALL_SHIM_EXIT_MARKS_H_
#define ROLLCALL_SHIM_EXIT_MARKS_H_

namespace rollcall::shim {

// Registers handlers for exit(), for the return from main, and for quick_exit(). Called once by
// Start(). _exit and _Exit run no handlers and are therefore wrapped (exit_marks.cc), as are the
// functions by which MPICH reports an error.
void InstallExitMarks();

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_EXIT_MARKS_H_
