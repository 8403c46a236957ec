// SPDX-License-Identifier: Apache-2.0
#include "shim/python/exception.h"

#include <dlfcn.h>

#include <cstring>

#include "shim/call_paths.h"
#include "shim/process.h"
#include "shim/python/code_table.h"
#include "shim/python/object.h"

namespace rollcall::shim::python {
namespace {

// PyTypeObject and PyBaseExceptionObject: the same in every version that is supported
// (cpython/object.h, cpython/pyerrors.h).
constexpr uint64_t kTypeStr = 136;   // tp_str
constexpr uint64_t kTypeBase = 256;  // tp_base
constexpr uint64_t kExceptionArgs = 24;
constexpr unsigned long kIsHeapType = 1ul << 9;
constexpr unsigned long kIsException = 1ul << 30;
constexpr int kMaxBases = 64;
constexpr int64_t kMaxArguments = 8;

std::atomic<bool> g_watching{false};
std::atomic<bool> g_watching_threads{false};

uint64_t WordAt(uint64_t object, uint64_t offset) {
  OwnMemory memory;
  const unsigned char* at = memory.At(object + offset, sizeof(uint64_t), Slot::kFrame);
  return at == nullptr ? 0 : Load<uint64_t>(at);
}

uint64_t TypeOf(uint64_t object) { return WordAt(object, g_interpreter.shape.layout.object_type); }

// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* AsPointer(uint64_t object) { return reinterpret_cast<void*>(object); }

// Returns the object that an exported variable like PyExc_KeyError points to; with `points` false,
// the address of the variable itself (a type or None).
uint64_t Exported(const char* name, bool points = true) {
  const void* variable = dlsym(g_interpreter.scope, name);
  dlerror();
  return variable == nullptr ? 0
         : points            ? WordAt(reinterpret_cast<uint64_t>(variable), 0)
                             : reinterpret_cast<uint64_t>(variable);
}

// True if the object's str() and repr() run no Python code.
bool IsPlain(uint64_t object) {
  const uint64_t type = TypeOf(object);
  const Shape& shape = g_interpreter.shape;
  if (type == shape.text_type || type == shape.bytes_type) return true;
  for (const char* name : {"PyLong_Type", "PyFloat_Type", "PyBool_Type"}) {
    if (type == Exported(name, false)) return true;
  }
  return object == Exported("_Py_NoneStruct", false);
}

bool AllPlain(uint64_t tuple) {
  if (TypeOf(tuple) != Exported("PyTuple_Type", false)) return false;
  const auto size = static_cast<int64_t>(WordAt(tuple, g_interpreter.shape.layout.object_size));
  if (size < 0 || size > kMaxArguments) return false;
  for (int64_t i = 0; i < size; ++i) {
    const void* item = g_interpreter.api.TupleItem(AsPointer(tuple), i);
    if (item == nullptr || !IsPlain(reinterpret_cast<uint64_t>(item))) return false;
  }
  return true;
}

// True if str() of the exception runs only C code: the function is that of a built-in exception
// type, and it shows only objects of built-in types.
bool HasPlainText(uint64_t value, uint64_t type) {
  const Api& api = g_interpreter.api;
  uint64_t builtin = type;
  for (int i = 0; i < kMaxBases && builtin != 0; ++i) {
    if ((api.TypeGetFlags(AsPointer(builtin)) & kIsHeapType) == 0) break;
    builtin = WordAt(builtin, kTypeBase);
  }
  if (builtin == 0 || WordAt(type, kTypeStr) != WordAt(builtin, kTypeStr)) return false;
  if (!AllPlain(WordAt(value, kExceptionArgs))) return false;
  // An OSError also shows its file names, which are not among its arguments. A derived type may
  // have redefined these attributes.
  const uint64_t os_error = Exported("PyExc_OSError");
  if (api.TypeIsSubtype(AsPointer(type), AsPointer(os_error)) == 0) return true;
  if (builtin != type) return false;
  for (const char* name : {"filename", "filename2"}) {
    const Object file(api.GetAttr(AsPointer(value), name));
    if (file.get() == nullptr || !IsPlain(file.address())) return false;
  }
  return true;
}

// One line of text. If it is too long, a str is cut between characters.
struct Line {
  char text[kMaxText];
  size_t length = 0;

  void Add(const char* more, size_t bytes) {
    const size_t room = sizeof(text) - length;
    memcpy(text + length, more, bytes < room ? bytes : room);
    length += bytes < room ? bytes : room;
  }
  // Adds a str up to its first line break. False if it is not a str or cannot be read.
  bool Add(uint64_t object) {
    OwnMemory memory;
    Text found;
    if (!FindText(g_interpreter.shape, memory, object, Slot::kName, &found)) return false;
    uint64_t characters = found.length;
    if (characters > sizeof(text)) characters = sizeof(text);
    if (characters == 0) return true;
    const unsigned char* at = memory.At(found.address, characters * found.kind, Slot::kName);
    if (at == nullptr) return false;
    length +=
        rollcall::python::ToUtf8(at, found.kind, characters, text + length, sizeof(text) - length);
    if (const void* end = memchr(text, '\n', length)) {
      length = static_cast<size_t>(static_cast<const char*>(end) - text);
    }
    return true;
  }
  bool Is(const char* other) const {
    return length == strlen(other) && memcmp(text, other, length) == 0;
  }
};

// "module.Class", as a traceback prints it.
bool NameOf(uint64_t type, Line* name) {
  const Api& api = g_interpreter.api;
  Line module;
  const Object module_name(api.GetAttr(AsPointer(type), "__module__"));
  if (module_name.get() != nullptr && module.Add(module_name.address()) && module.length != 0 &&
      !module.Is("builtins") && !module.Is("__main__")) {
    name->Add(module.text, module.length);
    name->Add(".", 1);
  }
  const Object own(api.GetAttr(AsPointer(type), "__qualname__"));
  return own.get() != nullptr && name->Add(own.address());
}

// Converts the frames of a traceback to a stack, innermost first. False if the frames do not begin
// with the program's outermost frame, or cannot be read.
bool ReadTraceback(void* first, Stack* stack) {
  const Api& api = g_interpreter.api;
  const Shape& shape = g_interpreter.shape;
  OwnMemory memory;
  FileHash last_file;
  Frame frames[kMaxDepth];  // the innermost ones, in a ring
  int count = 0;
  void* none = AsPointer(Exported("_Py_NoneStruct", false));
  void* at = first;
  void* owned = nullptr;
  bool good = true;
  // The program may allow any recursion depth; CPython itself holds at most this many entries.
  constexpr int kMaxEntries = 1 << 20;
  while (good && at != none && count < kMaxEntries) {
    const Object frame(api.GetAttr(at, "tb_frame"));
    const Object lasti(api.GetAttr(at, "tb_lasti"));
    good = frame.get() != nullptr && lasti.get() != nullptr;
    if (good && count == 0) {
      const Object back(api.GetAttr(frame.get(), "f_back"));
      good = back.get() == none;
    }
    const Object code(good ? api.GetAttr(frame.get(), "f_code") : nullptr);
    good = code.get() != nullptr;
    if (good) {
      Frame& entry = frames[count % kMaxDepth];
      const unsigned char* bytes = memory.At(code.address(), shape.layout.code_bytes, Slot::kCode);
      good = bytes != nullptr &&
             Load<uint64_t>(bytes + shape.layout.object_type) == shape.code_type &&
             Fingerprint(shape, memory, bytes, &last_file, &entry.fingerprint);
      entry.code = code.address();
      const long offset = api.LongValue(lasti.get());
      entry.place = offset < 0 ? ring::kPythonFrameNoOffset
                               : static_cast<uint64_t>(offset) & ring::kPythonFrameOffsetMask;
      ++count;
    }
    void* next = good ? api.GetAttr(at, "tb_next") : nullptr;
    good = next != nullptr;
    if (owned != nullptr) api.DecRef(owned);
    owned = at = next;
  }
  if (owned != nullptr) api.DecRef(owned);
  if (!good || count == 0) return false;
  stack->depth = count < kMaxDepth ? count : kMaxDepth;
  stack->end = count <= kMaxDepth ? ring::PythonEnd::kComplete : ring::PythonEnd::kDepthLimit;
  stack->hash = 0x74726163;
  for (int i = 0; i < stack->depth; ++i) {
    stack->frames[i] = frames[(count - 1 - i) % kMaxDepth];
    stack->hash = Mix64(stack->hash, stack->frames[i].fingerprint + stack->frames[i].place);
  }
  return true;
}

// True if the executable is a `python`. Programs that embed Python continue after an exception was
// printed.
bool IsInterpretersProgram() {
  const char* path = g_process.header->executable;
  const char* base = strrchr(path, '/');
  return strncmp(base == nullptr ? path : base + 1, "python", 6) == 0;
}

void Note() {
  const Api& api = g_interpreter.api;
  // sys.last_exc of 3.12 is the same object.
  void* value = api.SysGetObject("last_value");
  if (value == nullptr || api.SysGetObject("ps1") != nullptr || !IsInterpretersProgram()) return;
  const uint64_t type = TypeOf(reinterpret_cast<uint64_t>(value));
  if (type == 0 || (api.TypeGetFlags(AsPointer(type)) & kIsException) == 0) return;
  // A KeyboardInterrupt is not recorded: the job was ended from outside.
  const uint64_t interrupt = Exported("PyExc_KeyboardInterrupt");
  if (interrupt == 0 || api.TypeIsSubtype(AsPointer(type), AsPointer(interrupt)) != 0) return;
  const Object traceback(api.ExceptionGetTraceback(value));
  Stack stack;
  Line name, message;
  if (traceback.get() == nullptr || !ReadTraceback(traceback.get(), &stack)) return;
  if (!NameOf(type, &name) || name.length == 0) return;
  if (HasPlainText(reinterpret_cast<uint64_t>(value), type)) {
    const Object text(api.Text(value));
    if (text.get() != nullptr) message.Add(text.address());
  }
  MarkException({.kind = ring::ExceptionKind::kPython,
                 .type = InternBytes(name.text, static_cast<uint32_t>(name.length)),
                 .message = message.length == 0
                                ? 0
                                : InternBytes(message.text, static_cast<uint32_t>(message.length)),
                 .call_path = InternPythonPath(stack)});
}

// Called by Python's threading before it joins the non-daemon threads.
void* OnThreadsJoin(void*, void*) {
  NoteUncaughtException();
  return g_interpreter.api.Build("");  // None
}

// Called by Python's atexit.
void* OnPythonExit(void*, void*) {
  g_watching_threads.store(true, std::memory_order_relaxed);  // no further pending calls
  NoteUncaughtException();
  // The interpreter may be initialised again.
  g_watching.store(false, std::memory_order_relaxed);
  g_watching_threads.store(false, std::memory_order_relaxed);
  return g_interpreter.api.Build("");  // None
}

// PyMethodDef.
struct FunctionDefinition {
  const char* name;
  void* (*function)(void* self, void* arguments);
  int flags;
  const char* documentation;
};
constexpr int kNoArguments = 4;  // METH_NOARGS
constinit FunctionDefinition g_on_exit = {"rollcall_on_exit", OnPythonExit, kNoArguments, nullptr};
constinit FunctionDefinition g_on_join = {"rollcall_on_join", OnThreadsJoin, kNoArguments, nullptr};

Object FindModule(const char* name) {
  const Object text(g_interpreter.api.Build("s", name));
  return Object(text.get() == nullptr ? nullptr : g_interpreter.api.FindModule(text.get()));
}

// Registers a function by calling `adder` of the module. False if an error is set. `adder` must be
// an object of `type`. If it is not, the program has replaced it, and nothing is registered: the
// replacement would see a call that the program did not make.
bool Register(const Object& module, const char* adder, const char* type,
              FunctionDefinition* definition) {
  const Api& api = g_interpreter.api;
  const Object add(api.GetAttr(module.get(), adder));
  if (add.get() == nullptr) return false;
  if (TypeOf(add.address()) != Exported(type, false)) return true;
  const Object function(api.NewFunction(definition, nullptr, nullptr));
  if (function.get() == nullptr) return false;
  void* none = nullptr;
  const Object done(api.Call(add.get(), function.get(), none));
  return done.get() != nullptr;
}

// Clears the error and returns true if the error means that there is no such function, or that it
// is too late to register. Any other error was raised by a signal handler of the program.
bool ClearOurs() {
  const Api& api = g_interpreter.api;
  for (const char* name : {"PyExc_ImportError", "PyExc_AttributeError", "PyExc_RuntimeError"}) {
    if (api.ErrorMatches(AsPointer(Exported(name))) == 0) continue;
    api.ErrorClear();
    return true;
  }
  return false;
}

}  // namespace

int WatchForExceptions() {
  if (!g_watching.exchange(true, std::memory_order_relaxed)) {
    const Object known = FindModule("atexit");
    const Object imported(known.get() == nullptr ? g_interpreter.api.Import("atexit") : nullptr);
    const Object& atexit = known.get() == nullptr ? imported : known;
    const bool registered =
        atexit.get() != nullptr && Register(atexit, "register", "PyCFunction_Type", &g_on_exit);
    if (!registered && !ClearOurs()) return -1;
  }
  // `_register_atexit` exists from 3.9 on. `threading` is not imported here: a program without
  // threads has none to join.
  const Object threading = FindModule("threading");
  if (threading.get() == nullptr || WatchesThreads()) return 0;
  g_watching_threads.store(true, std::memory_order_relaxed);
  const bool registered = Register(threading, "_register_atexit", "PyFunction_Type", &g_on_join);
  return registered || ClearOurs() ? 0 : -1;
}

bool WatchesThreads() { return g_watching_threads.load(std::memory_order_relaxed); }

ROLLCALL_COLD void NoteUncaughtException() {
  const ErrnoGuard keeper;
  if (!Recording() || State() != ring::PythonState::kOn || StateIfHolding() == 0) return;
  const Quiet quiet;
  Note();
  g_interpreter.api.ErrorClear();
}

}  // namespace rollcall::shim::python
