// SPDX-License-Identifier: Apache-2.0
// Call paths: a stack is captured, recognized by its hash, and stored once in the ring.
#ifndef ROLLCALL_SHIM_CALL_PATHS_H_
#define ROLLCALL_SHIM_CALL_PATHS_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/process.h"
#include "shim/python/frames.h"
#include "shim/stack/stack.h"

namespace rollcall::shim {

struct InternedPath {
  uint32_t id = 0;             // ring::Record::call_path; 0 if none
  uint64_t portable_hash = 0;  // ring::CallPathHeader::portable_hash
  uint32_t context = 0;        // ring::Record::context_path
};

inline void SetCallPath(ring::Record* record, const InternedPath& path) {
  record->call_path = path.id;
  record->context_path = path.context;
}

// Returns the calling thread's stack, if stacks are recorded, from `caller_frame`
// (ROLLCALL_CALLER_FRAME()) outwards, with its Python frames. When a path is seen for the first
// time, its modules are looked up, which takes the loader's list lock, as the stack walker does.
// Afterwards: no allocation, lock or system call, with one exception. In a process that runs
// Python, the context of a thread without Python frames costs one system call. Any thread.
InternedPath CaptureCallPath(CallerFrame caller_frame);
inline InternedPath CurrentCallPath(CallerFrame caller_frame) {
  return g_process.stacks ? CaptureCallPath(caller_frame) : InternedPath{};
}

// Stores a path that has Python frames only, of another thread, read through `memory`. Returns its
// id; 0 if there is no room or if the frames have changed.
uint32_t InternPythonPath(python::CopiedMemory& memory, const python::Stack& stack);
// The same for frames whose code the calling thread keeps alive.
uint32_t InternPythonPath(const python::Stack& stack);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_CALL_PATHS_H_
