// SPDX-License-Identifier: Apache-2.0
// The context of a call by a thread without Python frames: where Python's main thread is.
#ifndef ROLLCALL_SHIM_PYTHON_CONTEXT_H_
#define ROLLCALL_SHIM_PYTHON_CONTEXT_H_

#include <cstdint>

namespace rollcall::shim::python {

// Returns the id of the main thread's call path, for ring::Record::context_path. Returns 0 if the
// main thread is unknown, is the calling thread, has no frames, or changes too fast to be read.
//
// PyTorch launches most collectives in threads of its own (autograd), which have no Python frames.
// Users recognise the line where the main thread waits for these threads. If the main thread is
// inside a recorded call, its path is taken from the ring. Otherwise its frames are copied twice by
// process_vm_readv and used if both copies are equal, because another thread's frames may be freed
// while they are read.
//
// Costs a system call. If the main thread has moved since the last call, reading its frames costs
// some tens of microseconds. That is done at most once a millisecond; a record that is made sooner
// has no context. Changes of outer callers may remain undetected for up to eight milliseconds. Any
// thread; errno is kept.
uint32_t MainThreadPath();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CONTEXT_H_
