// Records the uncaught Python exception that ends the program.
//
// When MPI_Finalize is called, the interpreter's objects may be gone: mpi4py registers it with
// Py_AtExit, which runs last. So the shim registers a function with Python's `atexit`, which runs
// after the exception was printed and before anything is torn down, and another one with
// `threading`, which runs before non-daemon threads are joined. Nothing else changes for the
// program, and there is no cost until then.
#ifndef ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
#define ROLLCALL_SHIM_PYTHON_EXCEPTION_H_

namespace rollcall::shim::python {

// Registers the functions, once per life of the interpreter: with `atexit` at once, with
// `threading` when the program has imported it. The calling thread must hold the GIL; other Python
// code may run during the call (an import, a signal handler). Returns -1 if a signal handler raised
// an exception, which the caller has to pass on.
int WatchForExceptions();
// True if nothing is left to register.
bool WatchesThreads();

// Marks the exception in the ring if there is one (`sys.last_value`), the calling thread holds the
// GIL, and the exception ends the program: it left the outermost frame of a non-interactive
// `python`. Runs none of the program's code except audit hooks and metaclasses: the message is
// recorded only if str() of the exception runs no such code.
void NoteUncaughtException();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
