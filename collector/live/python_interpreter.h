// The Python interpreter in another process: where it is, and how its structures are laid out.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/live/process_image.h"
#include "proto/python_layout.h"

namespace rollcall {

// Addresses are of the process. All of it was read from the process or from a file that the process
// named; nothing that is reached through it may be trusted.
struct PythonInterpreter {
  python::Layout layout;
  uint64_t runtime = 0;     // _PyRuntime
  uint64_t code_type = 0;   // PyCode_Type, and so on
  uint64_t frame_type = 0;  // looked at to 3.10
  uint64_t text_type = 0;
  uint64_t bytes_type = 0;
  // For the values of variables alone; 0: not exported.
  uint64_t type_type = 0;
  uint64_t tuple_type = 0;
  uint64_t dict_type = 0;
  uint64_t cell_type = 0;
  uint64_t integer_type = 0;  // PyLong_Type
  uint64_t generator_type = 0;
};

enum class PythonPresence : uint8_t {
  kAbsent,
  kKnown,
  kUnknown,  // it is there, and nothing more can be said: `*why` tells the reason
};

// Looks among the process' modules: libpython, python, and, if extension modules are loaded, the
// program itself, which may hold the interpreter. A module's symbols are those of its file, found
// below `file_root`
// (/proc/<pid>/root) or, if that fails, here, and taken only if its build id is that of what is
// loaded. The version comes from the process itself: Py_Version from 3.11 on; before that it is
// told by the functions that each version added. `why` and `interpreter` may not be null.
PythonPresence FindPythonInterpreter(const ProcessImage& image, const std::string& file_root,
                                     PythonInterpreter* interpreter, std::string* why);

// One thread of an interpreter: its PyThreadState.
struct PythonThread {
  uint64_t state = 0;
  uint64_t pthread = 0;    // pthread_t: with glibc on x86-64 the thread pointer
  uint64_t native_id = 0;  // gettid() as the process sees it; from 3.11, else 0
};

struct PythonThreads {
  uint64_t main_pthread = 0;          // of the thread that initialised Python; 0 if unknown
  std::vector<PythonThread> threads;  // sub-interpreters' before the main one's
  std::string problem;                // why there may be more; empty if all were read
};

// The threads of all interpreters. The process runs on meanwhile, so that the list may be of no one
// moment; it is read as far as it makes sense, and ends in any case.
PythonThreads ListPythonThreads(const ProcessMemory& memory, const PythonInterpreter& interpreter);

inline constexpr int kMaxPythonInterpreters = 64;
inline constexpr int kMaxPythonThreads = 4096;  // of all of them together

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_
