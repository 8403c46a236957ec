// SPDX-License-Identifier: Apache-2.0
// The process' Python interpreter.
//
// The interpreter's own functions are called for these purposes only:
//   - to find out whether the interpreter is initialized, and its version
//   - once, while the calling thread holds the GIL, to compare the frames that were read with the
//     results of the API (check.h)
//   - at the interpreter's end, to read the exception that ends it (exception.h)
// A capture calls none of them: the thread's state is the value of the pthread key under which the
// interpreter stores it (PyGILState).
#ifndef ROLLCALL_SHIM_PYTHON_INTERPRETER_H_
#define ROLLCALL_SHIM_PYTHON_INTERPRETER_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "proto/ring_format.h"
#include "shim/platform.h"
#include "shim/python/frames.h"

namespace rollcall::shim::python {

// Functions of the interpreter, found by their exported names. Functions that not every version has
// may be null. Objects are void pointers, so that Python's headers are not needed.
struct Api {
  int (*IsInitialized)() = nullptr;
  const char* (*GetVersion)() = nullptr;
  int (*GilStateCheck)() = nullptr;
  void* (*GilStateThisThread)() = nullptr;
  void* (*ThreadStateUnchecked)() = nullptr;  // state of the thread holding the GIL, or null
  int (*AddPendingCall)(int (*function)(void*), void*) = nullptr;
  void* (*EvalGetFrame)() = nullptr;       // borrowed
  void* (*FrameGetCode)(void*) = nullptr;  // from 3.9
  void* (*GetAttr)(void*, const char*) = nullptr;
  const char* (*TextUtf8)(void*, int64_t*) = nullptr;
  int (*BytesContent)(void*, char**, int64_t*) = nullptr;
  long (*LongValue)(void*) = nullptr;
  void (*DecRef)(void*) = nullptr;
  void (*ErrorFetch)(void**, void**, void**) = nullptr;
  void (*ErrorRestore)(void*, void*, void*) = nullptr;
  void (*ErrorClear)() = nullptr;
  int (*ErrorMatches)(void* type) = nullptr;
  void* (*SysGetObject)(const char*) = nullptr;     // borrowed; null if there is none
  void* (*ExceptionGetTraceback)(void*) = nullptr;  // null if there is none
  unsigned long (*TypeGetFlags)(void*) = nullptr;
  int (*TypeIsSubtype)(void*, void*) = nullptr;
  void* (*Text)(void*) = nullptr;  // str()
  void* (*Import)(const char*) = nullptr;
  void* (*FindModule)(void* name) = nullptr;              // an imported module, or null
  void* (*TupleItem)(void* tuple, int64_t at) = nullptr;  // borrowed
  void* (*NewFunction)(void* definition, void* self, void* module) = nullptr;
  void* (*Call)(void* function, ...) = nullptr;  // arguments, then a null pointer
  void* (*Build)(const char*, ...) = nullptr;
  int (*GcDisable)() = nullptr;  // from 3.10
  int (*GcEnable)() = nullptr;
};

struct Interpreter {
  Api api;
  void* scope = nullptr;  // dlopen handle in which its names are looked up
  Shape shape;
  uint32_t version_hex = 0;
  uint64_t runtime = 0;     // address of _PyRuntime
  uint64_t eval_begin = 0;  // _PyEval_EvalFrameDefault: native frames that run Python ones
  uint64_t eval_end = 0;
  pthread_key_t key = 0;  // set by the check
  // The main thread, whose Python stack is the context of other threads (context.h). Set when the
  // main thread has identified itself (check.cc).
  std::atomic<uint64_t> main_thread_state{0};
  std::atomic<uint32_t> main_tid{0};
};

// The non-atomic fields are set before `g_state` leaves kAbsent or kUnchecked.
extern Interpreter g_interpreter;
// ring::PythonState. kOn: captures read frames.
extern ROLLCALL_HIDDEN std::atomic<uint32_t> g_state;

inline ring::PythonState State() {
  return static_cast<ring::PythonState>(g_state.load(std::memory_order_acquire));
}

// Looks for an interpreter among the loaded modules, unless one was found before. True if an
// interpreter of any version is known now. Makes no call into the interpreter that needs the GIL.
// Takes the loader's lock; errno is kept. In a process without Python, each call costs a failed
// look-up: call it only at MPI's initialisation, and when a module is seen in a stack for the first
// time.
bool FindInterpreter();

// Writes the state and the interpreter that was found to the ring, which must exist.
void PublishInterpreter();

// kUnchecked becomes kOn.
void SwitchOn();

// Stops reading Python frames. Prints a line on stderr, once, if the reason is an error of the shim
// or an unknown interpreter. Do not call it with kAsked.
void SwitchOff(ring::PythonOff why);

// Returns true and sets the state to kUnchecked if frames are off because of Py_Finalize and an
// embedding program has called Py_Initialize afterwards.
bool DetectReinitialization();

// True if Py_Finalize is running or has finished. One load.
bool IsFinalizing();

// The calling thread's thread state if it holds the GIL; else 0.
uint64_t StateIfHolding();

// True if the thread's state may belong to another interpreter than the one that the thread runs
// in. That is possible up to 3.11, while there are sub-interpreters. Two loads.
bool MayBeOtherInterpreter();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_INTERPRETER_H_
