// SPDX-License-Identifier: Apache-2.0
#include "collector/live/python_interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "collector/live/exported_symbols.h"
#include "collector/model/python_merge.h"

namespace rollcall {
namespace {

using python::kNone;

enum Name : uint8_t {
  kRuntime,
  kCodeType,
  kFrameType,
  kTextType,
  kBytesType,
  kTypeType,
  kTupleType,
  kDictType,
  kCellType,
  kIntegerType,
  kGeneratorType,
  kFloatType,
  kBoolType,
  kListType,
  kSetType,
  kNoneObject,
  kTrueObject,
  kVersionAddress,  // from 3.11
  kAddedIn310,
  kAddedIn39,
  kAddedIn38,
  kOnlyPyPy,
  kOnlyDebug,  // with Py_REF_DEBUG
  kNames,
};
constexpr std::array<std::string_view, kNames> kText = {
    "_PyRuntime",         "PyCode_Type",         "PyFrame_Type",
    "PyUnicode_Type",     "PyBytes_Type",        "PyType_Type",
    "PyTuple_Type",       "PyDict_Type",         "PyCell_Type",
    "PyLong_Type",        "PyGen_Type",          "PyFloat_Type",
    "PyBool_Type",        "PyList_Type",         "PySet_Type",
    "_Py_NoneStruct",     "_Py_TrueStruct",      "Py_Version",
    "PyGC_Disable",       "PyFrame_GetCode",     "PyCode_NewWithPosOnlyArgs",
    "PyPy_IsInitialized", "_Py_NegativeRefcount"};

using Addresses = std::array<uint64_t, kNames>;  // ELF addresses; 0: not there

bool IsExtension(const LoadedModule& module) {
  for (const std::string_view part :
       {".cpython-3", "/lib-dynload/", "/site-packages/", "/dist-packages/"}) {
    if (module.path.find(part) != std::string::npos) return true;
  }
  return false;
}

template <typename T>
bool Load(const ProcessMemory& memory, uint64_t address, T* value) {
  return memory.Read(address, value, sizeof(*value)) == sizeof(*value);
}

std::string VersionText(uint32_t hex) {
  return std::to_string(hex >> 24) + "." + std::to_string(hex >> 16 & 0xff) + "." +
         std::to_string(hex >> 8 & 0xff);
}

// The final release of a minor version, for versions whose exact number is not read (before 3.11).
// Up to 3.12 the layout depends on the minor version only.
constexpr uint32_t FinalRelease(uint32_t minor) { return 3u << 24 | minor << 16 | 0xf0; }

PythonPresence Examine(const ProcessMemory& memory, const LoadedModule& module, const Addresses& at,
                       PythonInterpreter* interpreter, std::string* why) {
  if (at[kOnlyPyPy] != 0) {
    *why = "it is PyPy";
    return PythonPresence::kUnknown;
  }
  if (at[kRuntime] == 0 || at[kCodeType] == 0 || at[kFrameType] == 0 || at[kTextType] == 0 ||
      at[kBytesType] == 0) {
    *why = "its symbols were removed, or it is older than 3.8";
    return PythonPresence::kUnknown;
  }
  if (at[kOnlyDebug] != 0) {
    *why = "it is a debug build";
    return PythonPresence::kUnknown;
  }
  uint32_t version = 0;
  if (at[kVersionAddress] != 0) {
    uint64_t word = 0;
    if (!Load(memory, module.bias + at[kVersionAddress], &word)) {
      *why = "its version could not be read";
      return PythonPresence::kUnknown;
    }
    version = static_cast<uint32_t>(word);
  } else {
    version = at[kAddedIn310] != 0  ? FinalRelease(10)
              : at[kAddedIn39] != 0 ? FinalRelease(9)
              : at[kAddedIn38] != 0 ? FinalRelease(8)
                                    : 0;
  }
  interpreter->runtime = module.bias + at[kRuntime];
  interpreter->code_type = module.bias + at[kCodeType];
  interpreter->frame_type = module.bias + at[kFrameType];
  interpreter->text_type = module.bias + at[kTextType];
  interpreter->bytes_type = module.bias + at[kBytesType];
  const auto known = [&](Name name) { return at[name] == 0 ? 0 : module.bias + at[name]; };
  interpreter->type_type = known(kTypeType);
  interpreter->tuple_type = known(kTupleType);
  interpreter->dict_type = known(kDictType);
  interpreter->cell_type = known(kCellType);
  interpreter->integer_type = known(kIntegerType);
  interpreter->generator_type = known(kGeneratorType);
  interpreter->float_type = known(kFloatType);
  interpreter->bool_type = known(kBoolType);
  interpreter->list_type = known(kListType);
  interpreter->set_type = known(kSetType);
  interpreter->none = known(kNoneObject);
  interpreter->yes = known(kTrueObject);
  std::array<unsigned char, python::kDebugOffsetsBytes> offsets{};
  const bool published =
      memory.Read(interpreter->runtime, offsets.data(), offsets.size()) == offsets.size();
  switch (python::FindLayout(version, published ? offsets.data() : nullptr, &interpreter->layout)) {
    case python::LayoutResult::kFound:
      return PythonPresence::kKnown;
    case python::LayoutResult::kUnknownVersion:
      *why = version == 0 ? "it is older than 3.8"
                          : "version " + VersionText(version) + " is not known";
      break;
    case python::LayoutResult::kOtherBuild:
      *why = "it is a free-threaded build";
      break;
    case python::LayoutResult::kDamaged:
      *why = "the description of its structures is damaged";
      break;
  }
  return PythonPresence::kUnknown;
}

}  // namespace

PythonPresence FindPythonInterpreter(const ProcessImage& image, const std::string& file_root,
                                     PythonInterpreter* interpreter, std::string* why) {
  PythonPresence presence = PythonPresence::kAbsent;
  // The lowest mapping is usually the program itself. The program may be large, and opening it
  // delays reading the stacks. It is opened only if a loaded extension module shows that the
  // process runs Python.
  bool first = std::ranges::any_of(image.modules(), IsExtension);
  for (const LoadedModule& module : image.modules()) {
    const bool by_name = IsInterpreterModule(module.path);
    const bool looked_at = by_name || first;
    first = false;
    if (!looked_at || module.path == "[vdso]") continue;
    Addresses at{};
    // Only exported symbols are searched. Extension modules bind to exported symbols, so an
    // interpreter in use has them. A program may have many other symbols, and its threads would
    // wait during the search.
    const bool opened = FindExports(module, file_root, kText, at);
    // A program that loads libpython may be named like an interpreter but has none of its symbols.
    if (at[kCodeType] == 0 && at[kOnlyPyPy] == 0) {
      if (!opened && by_name && presence == PythonPresence::kAbsent) {
        *why = "the file that it runs, " + module.path + ", could not be read";
        presence = PythonPresence::kUnknown;
      }
      continue;
    }
    presence = Examine(image.memory(), module, at, interpreter, why);
    if (presence == PythonPresence::kKnown) {
      for (const LoadedModule& other : image.modules()) {
        if (other.path.find("/_multiarray_umath.") == std::string::npos) continue;
        interpreter->numpy_begin = other.data_start;
        interpreter->numpy_end = other.data_end;
      }
      return presence;
    }
  }
  return presence;
}

PythonThreads ListPythonThreads(const ProcessMemory& memory, const PythonInterpreter& interpreter) {
  const python::Layout& layout = interpreter.layout;
  PythonThreads list;
  uint64_t at = 0;
  if (layout.runtime_main_thread != kNone) {
    Load(memory, interpreter.runtime + layout.runtime_main_thread, &list.main_pthread);
  }
  if (!Load(memory, interpreter.runtime + layout.runtime_interpreters_head, &at)) {
    list.problem = "its list of interpreters could not be read";
    return list;
  }
  int left = kMaxPythonThreads;
  for (int i = 0; at != 0; ++i) {
    uint64_t state = 0;
    uint64_t next = 0;
    if (i == kMaxPythonInterpreters || (at & 7) != 0 ||
        !Load(memory, at + layout.interpreter_threads_head, &state) ||
        !Load(memory, at + layout.interpreter_next, &next)) {
      list.problem = "its list of interpreters is damaged";
      return list;
    }
    while (state != 0) {
      PythonThread thread{.state = state};
      if (left-- == 0 || (state & 7) != 0 ||
          !Load(memory, state + layout.thread_id, &thread.pthread) ||
          (layout.thread_native_id != kNone &&
           !Load(memory, state + layout.thread_native_id, &thread.native_id)) ||
          !Load(memory, state + layout.thread_next, &state)) {
        list.problem = "its list of threads is damaged";
        return list;
      }
      list.threads.push_back(thread);
    }
    at = next;
  }
  return list;
}

}  // namespace rollcall
