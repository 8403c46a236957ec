// What Python's main thread is doing while a thread without Python frames calls MPI or NCCL.
#ifndef ROLLCALL_SHIM_PYTHON_CONTEXT_H_
#define ROLLCALL_SHIM_PYTHON_CONTEXT_H_

#include <cstdint>

namespace rollcall::shim::python {

// The id of a call path, for ring::Record::context_path; 0 if it cannot be told: it is not known
// which thread is the main one, this is it, it has no frames, or it runs too busily to be read.
//
// PyTorch launches most collectives in threads of its own (autograd), which have no Python frames;
// what their user recognises is where the main thread waits for them. If that is inside a recorded
// call, its path is taken from the ring. Otherwise its frames are copied by process_vm_readv,
// twice, and used if both copies are equal: they are another thread's, and may be freed meanwhile.
//
// Costs a system call, and where the main thread has moved some tens of microseconds, at most once
// a millisecond; a record made sooner has no context. Callers further out may have changed
// unnoticed for up to eight milliseconds. Any thread; errno is kept.
uint32_t MainThreadPath();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_CONTEXT_H_
