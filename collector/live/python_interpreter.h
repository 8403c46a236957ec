// SPDX-License-Identifier: Apache-2.0
// Finds the Python interpreter in another process, and the layout of its structures.
#ifndef ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_
#define ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/live/process_image.h"
#include "proto/python_layout.h"

namespace rollcall {

// Addresses are addresses in the process. All data was read from the process or from a file that
// the process named. Do not trust data that is reached through these addresses.
struct PythonInterpreter {
  python::Layout layout;
  uint64_t runtime = 0;     // _PyRuntime
  uint64_t code_type = 0;   // PyCode_Type, and so on
  uint64_t frame_type = 0;  // used up to 3.10
  uint64_t text_type = 0;
  uint64_t bytes_type = 0;
  // Only for the values of variables; 0: not exported.
  uint64_t type_type = 0;
  uint64_t tuple_type = 0;
  uint64_t dict_type = 0;
  uint64_t cell_type = 0;
  uint64_t integer_type = 0;  // PyLong_Type
  uint64_t generator_type = 0;
  uint64_t float_type = 0;
  uint64_t bool_type = 0;
  uint64_t list_type = 0;
  uint64_t set_type = 0;
  uint64_t none = 0;  // None
  uint64_t yes = 0;   // True
  // The data of NumPy's library, which has its types; 0: not loaded.
  uint64_t numpy_begin = 0;
  uint64_t numpy_end = 0;
};

enum class PythonPresence : uint8_t {
  kAbsent,
  kKnown,
  kUnknown,  // an interpreter of unknown layout; `*why` is the reason
};

// Searches the process's modules: libpython, python and, if extension modules are loaded, the
// program itself, which may contain the interpreter. A module's symbols come from its file, found
// below `file_root` (/proc/<pid>/root) or, if that fails, on this system, and are used only if its
// build id equals that of the loaded module. The version comes from the process: from Py_Version
// since 3.11, before from the functions that each version added. `why` and `interpreter` must not
// be null.
PythonPresence FindPythonInterpreter(const ProcessImage& image, const std::string& file_root,
                                     PythonInterpreter* interpreter, std::string* why);

// One thread of an interpreter: its PyThreadState.
struct PythonThread {
  uint64_t state = 0;
  uint64_t pthread = 0;    // pthread_t: with glibc on x86-64, the thread pointer
  uint64_t native_id = 0;  // gettid() in the process's namespace; from 3.11, else 0
};

struct PythonThreads {
  uint64_t main_pthread = 0;          // of the thread that initialised Python; 0 if unknown
  std::vector<PythonThread> threads;  // threads of sub-interpreters come first
  std::string problem;                // why threads may be missing; empty if all were read
};

// Lists the threads of all interpreters. The process runs meanwhile, so the list may mix several
// moments. Reading stops at inconsistent data and always terminates.
PythonThreads ListPythonThreads(const ProcessMemory& memory, const PythonInterpreter& interpreter);

inline constexpr int kMaxPythonInterpreters = 64;
inline constexpr int kMaxPythonThreads = 4096;  // in all interpreters together

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_PYTHON_INTERPRETER_H_
