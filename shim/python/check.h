// Checked before trusted: the first time that a thread holds the GIL inside a wrapper, what is read
// of its frames is compared with what Python's own functions say of the same frames.
#ifndef ROLLCALL_SHIM_PYTHON_CHECK_H_
#define ROLLCALL_SHIM_PYTHON_CHECK_H_

#include "shim/python/interpreter.h"

namespace rollcall::shim::python {

// Tries to check, and leaves the state kOn, kOff or (no chance yet) kUnchecked. To be called at the
// entry of a wrapper, outside of everything that a nested MPI call could disturb: Python's
// functions may run finalizers. Never takes the GIL and never waits for it: where the thread does
// not hold it, which is so in each call of a program that binds MPI by ctypes or with the GIL
// released, Python's main thread is asked to check at its next bytecode (Py_AddPendingCall, which
// needs neither the GIL nor a thread state).
//
// Costs microseconds per frame, once. Keeps errno and the error indicator of the thread.
void TryCheck();

// To be called when a call path with Python frames is seen for the first time: by then the program
// may have imported what exceptions are watched by. As above, Python's main thread is asked.
void TryWatch();

// One load; whether TryCheck has anything to do.
inline bool WantsCheck() {
  return __builtin_expect(g_state.load(std::memory_order_relaxed) ==
                              static_cast<uint32_t>(ring::PythonState::kUnchecked),
                          0);
}

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CHECK_H_
