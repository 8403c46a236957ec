// The exception that ends the program: nobody caught it, and the interpreter is about to go down.
//
// By the time MPI_Finalize is called the interpreter's objects may be gone: mpi4py registers it
// with Py_AtExit, which comes last. So a function of ours is registered with Python's `atexit`,
// which runs when the exception has been printed and before anything is torn down, and another one
// with `threading`, which runs before the threads that are no daemons are joined. Nothing else
// changes for the program, and nothing costs anything before.
#ifndef ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
#define ROLLCALL_SHIM_PYTHON_EXCEPTION_H_

namespace rollcall::shim::python {

// Registers that function, once per life of the interpreter, and with Python's threading as soon as
// the program has imported that. The thread holds the GIL; other Python code may run meanwhile (an
// import, a signal's handler). -1: an exception is set that is none of ours, a handler's: the
// caller has to raise it.
int WatchForExceptions();
// Whether there is nothing left to register.
bool WatchesThreads();

// Marks the exception in the ring if there is one (`sys.last_value`), the calling thread holds the
// GIL, and it ends the program: it left the outermost frame of a `python` that is not interactive.
// Runs no code of the program's but audit hooks and metaclasses: the message is noted only if str()
// of the exception runs none.
void NoteUncaughtException();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_EXCEPTION_H_
