// The process' Python interpreter: found, checked, and then no longer asked.
//
// What the interpreter's own functions are called for: to learn that it is there and which version
// it is; once, while the calling thread holds the GIL, to compare what is read of its frames
// with what its API says of them (check.h); and at its end, for the exception that ends it
// (exception.h). Capturing calls nothing of it: the thread's state is
// the value of the pthread key that the interpreter keeps it under (PyGILState).
#ifndef ROLLCALL_SHIM_PYTHON_INTERPRETER_H_
#define ROLLCALL_SHIM_PYTHON_INTERPRETER_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "proto/ring_format.h"
#include "shim/python/frames.h"

namespace rollcall::shim::python {

// Functions of the interpreter, by their exported names; those that not every version has may be
// null. Objects are void pointers: no header of Python's is included.
struct Api {
  int (*IsInitialized)() = nullptr;
  const char* (*GetVersion)() = nullptr;
  int (*GilStateCheck)() = nullptr;
  void* (*GilStateThisThread)() = nullptr;
  void* (*ThreadStateUnchecked)() = nullptr;  // that of the GIL's holder, or null
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
  void* (*FindModule)(void* name) = nullptr;              // of those that are imported, or null
  void* (*TupleItem)(void* tuple, int64_t at) = nullptr;  // borrowed
  void* (*NewFunction)(void* definition, void* self, void* module) = nullptr;
  void* (*Call)(void* function, ...) = nullptr;  // arguments, then a null pointer
  void* (*Build)(const char*, ...) = nullptr;
  int (*GcDisable)() = nullptr;  // from 3.10
  int (*GcEnable)() = nullptr;
};

struct Interpreter {
  Api api;
  void* scope = nullptr;  // where its names are looked up
  Shape shape;
  uint32_t version_hex = 0;
  uint64_t runtime = 0;     // address of _PyRuntime
  uint64_t eval_begin = 0;  // _PyEval_EvalFrameDefault: native frames that run Python ones
  uint64_t eval_end = 0;
  pthread_key_t key = 0;  // set by the check
  // The thread whose Python stack is context for others (context.h); set when its frames were seen.
  std::atomic<uint64_t> main_thread_state{0};
  std::atomic<uint32_t> main_tid{0};
};

// Fields but for the atomic ones are set before `state` leaves kAbsent or kUnchecked.
extern Interpreter g_interpreter;
// ring::PythonState. kOn: captures read frames.
extern std::atomic<uint32_t> g_state;

inline ring::PythonState State() {
  return static_cast<ring::PythonState>(g_state.load(std::memory_order_acquire));
}

// Looks for an interpreter among the loaded modules, if none was found before; true if there is one
// now, whatever its version. Makes no call into it that needs the GIL. Takes the loader's lock;
// errno is kept. A process without Python pays a failed look-up each time, so: at MPI's
// initialisation and when a module is seen in a stack for the first time.
bool FindInterpreter();

// From now on the ring can be written: it shows the state, and whatever was found.
void PublishInterpreter();

// kUnchecked becomes kOn.
void SwitchOn();

// No Python frames from now on; said on stderr once where `why` is a fault of ours or an unknown
// interpreter. Not for kAsked.
void SwitchOff(ring::PythonOff why);

// Whether frames, off because Py_Finalize was seen, may be checked again: an embedding program has
// called Py_Initialize since. If so, the state is kUnchecked now.
bool ComesBack();

// Whether Py_Finalize is under way, or done. One load.
bool IsFinalizing();

// The calling thread's state if it holds the GIL; else 0.
uint64_t StateIfHolding();

// Whether the thread's state may be another interpreter's than the one it runs in: to 3.11, while
// there are sub-interpreters. Two loads.
bool MayBeOtherInterpreter();

}  // namespace rollcall::shim::python

#endif  // ROLLCALL_SHIM_PYTHON_INTERPRETER_H_
