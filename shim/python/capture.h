// SPDX-License-Identifier: Apache-2.0
// The calling thread's Python stack, for its call path.
#ifndef ROLLCALL_SHIM_PYTHON_CAPTURE_H_
#define ROLLCALL_SHIM_PYTHON_CAPTURE_H_

#include "shim/python/frames.h"
#include "shim/python/interpreter.h"

namespace rollcall::shim::python {

// Fills `stack` in every state of the interpreter; stack->hash distinguishes stacks. After the
// pages that it reads were seen once: no allocation, lock or system call. Any thread;
// async-signal-safe.
void Capture(Stack* stack);

// Reads the frames of a thread state, which must be the calling thread's own. A part of Capture
// that check.cc uses as well.
void ReadThreadState(uint64_t thread_state, Stack* stack);

// Counts the native frames that belong to the interpreter's evaluation loop.
int CountLoops(const uint64_t* pcs, int depth);

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CAPTURE_H_
