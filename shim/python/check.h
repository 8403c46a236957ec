// SPDX-License-Identifier: Apache-2.0
// Validates the frame reader before its results are used. The first time that a thread holds the
// GIL inside a wrapper, the frames that the shim read are compared with the results of Python's own
// functions.
#ifndef ROLLCALL_SHIM_PYTHON_CHECK_H_
#define ROLLCALL_SHIM_PYTHON_CHECK_H_

#include "shim/python/interpreter.h"

namespace rollcall::shim::python {

// Tries to check. Afterwards the state is kOn, kOff or, if no check was possible yet, kUnchecked.
// Call it at the entry of a wrapper, where a nested MPI call is safe, because Python's functions
// may run finalizers. TryCheck never takes the GIL and never waits for it. If the thread does not
// hold the GIL (as in every call of a program that binds MPI by ctypes or releases the GIL), it
// requests that Python's main thread makes the check at its next bytecode (Py_AddPendingCall, which
// needs neither the GIL nor a thread state).
//
// Costs microseconds per frame, once. Keeps errno and the error indicator of the thread.
void TryCheck();

// Tries to register the functions of exception.h. Call it when a call path with Python frames is
// seen for the first time: by then the program may have imported `threading`. Python's main thread
// makes the registration, by Py_AddPendingCall.
void TryWatch();

// True if the check is still to be made. One load.
inline bool WantsCheck() {
  return __builtin_expect(g_state.load(std::memory_order_relaxed) ==
                              static_cast<uint32_t>(ring::PythonState::kUnchecked),
                          0);
}

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CHECK_H_
