// What Python's main thread is doing while a thread without Python frames calls MPI or NCCL.
#ifndef ROLLCALL_SHIM_PYTHON_CONTEXT_H_
#define ROLLCALL_SHIM_PYTHON_CONTEXT_H_

#include <cstdint>

namespace rollcall::shim::python {

// Returns the id of the main thread's call path, for ring::Record::context_path. Returns 0 if the
// main thread is unknown, is the calling thread, has no frames, or changes too fast to be read.
//
// PyTorch launches most collectives in threads of its own (autograd), which have no Python frames;
// what users recognise is where the main thread waits for them. If the main thread is inside a
// recorded call, its path is taken from the ring. Otherwise its frames are copied twice by
// process_vm_readv, and used if both copies are equal, since another thread's frames may be freed
// while they are read.
//
// Costs a system call. If the main thread has moved, it costs some tens of microseconds, at most
// once a millisecond; a record made sooner has no context. Changes of outer callers may go
// unnoticed for up to eight milliseconds. Any thread; errno is kept.
uint32_t MainThreadPath();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CONTEXT_H_
