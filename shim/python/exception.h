// SPDX-License-Identifier: Apache-2.0
// Records the uncaught Python exception that ends the program.
//
// MPI_Finalize is too late to read the exception: mpi4py registers it with Py_AtExit, which runs
// last, when the interpreter's objects may be gone. The shim therefore registers two functions. One
// is registered with Python's `atexit` and runs after the exception was printed and before anything
// is torn down. The other is registered with `threading` and runs before non-daemon threads are
// joined. Nothing else changes for the program, and there is no cost until these functions run.
#ifndef ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
#define ROLLCALL_SHIM_PYTHON_EXCEPTION_H_

namespace rollcall::shim::python {

// Registers the functions, once per life of the interpreter: with `atexit` at once, with
// `threading` when the program has imported it. The calling thread must hold the GIL. Other Python
// code may run during the call (an import, a signal handler). Returns -1 if a signal handler raised
// an exception; the caller must pass the exception on.
int WatchForExceptions();
// True if nothing is left to register.
bool WatchesThreads();

// Marks the uncaught exception in the ring if these conditions hold: there is one
// (`sys.last_value`), the calling thread holds the GIL, and the exception ends the program, which
// means that it left the outermost frame of a non-interactive `python`. Runs no code of the program
// except audit hooks and metaclasses. The message is recorded only if str() of the exception runs
// no code of the program.
void NoteUncaughtException();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
