// SPDX-License-Identifier: Apache-2.0
#include "shim/python/interpreter.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "proto/environment.h"
#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::python {

constinit Interpreter g_interpreter;
constinit std::atomic<uint32_t> g_state{static_cast<uint32_t>(ring::PythonState::kAbsent)};

namespace {

using rollcall::python::kDebugOffsetsBytes;
using rollcall::python::kFirstPublished;
using rollcall::python::LayoutResult;

// From 3.12 on, PyThreadState_Swap also sets the value of the pthread key, so that the value is the
// thread state of the running interpreter.
constexpr uint32_t kFirstWithKeyPerSwap = 0x30c;

constinit SpinLock g_finding;
std::atomic<uint32_t> g_off{static_cast<uint32_t>(ring::PythonOff::kNone)};

// Finds a loaded libpython by its file name. An embedding program may have loaded libpython with
// RTLD_LOCAL, which keeps it out of the global scope.
int FindLibrary(dl_phdr_info* info, size_t, void* data) {
  const char* base = info->dlpi_name == nullptr ? nullptr : strrchr(info->dlpi_name, '/');
  if (base == nullptr || strncmp(base, "/libpython3.", 12) != 0) return 0;
  char* path = static_cast<char*>(data);
  snprintf(path, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

// Keeps the object loaded even if the program calls dlclose, because we hold pointers to its code
// and data. Loads nothing (RTLD_NOLOAD). Fails for the executable itself, which is never unloaded.
void* Keep(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); }

// Returns the scope to look names up in; nullptr with *found false if there is no interpreter.
void* FindScope(bool* found) {
  *found = true;
  for (const char* name : {"Py_IsInitialized", "PyPy_IsInitialized"}) {
    Dl_info info;
    const void* symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol == nullptr) continue;
    if (dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) Keep(info.dli_fname);
    return RTLD_DEFAULT;
  }
  char path[PATH_MAX] = "";
  if (dl_iterate_phdr(FindLibrary, path) != 0) {
    void* handle = Keep(path);
    if (handle != nullptr) return handle;
  }
  *found = false;
  return nullptr;
}

template <typename Function>
bool Bind(void* scope, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(scope, name));
  return *function != nullptr;
}

bool BindApi(void* scope, Api* api) {
  // Renamed in 3.13.
  if (!Bind(scope, "PyThreadState_GetUnchecked", &api->ThreadStateUnchecked)) {
    Bind(scope, "_PyThreadState_UncheckedGet", &api->ThreadStateUnchecked);
  }
  Bind(scope, "PyFrame_GetCode", &api->FrameGetCode);
  Bind(scope, "PyGC_Disable", &api->GcDisable);
  Bind(scope, "PyGC_Enable", &api->GcEnable);
  bool all = api->ThreadStateUnchecked != nullptr;
  all &= Bind(scope, "Py_IsInitialized", &api->IsInitialized);
  all &= Bind(scope, "Py_GetVersion", &api->GetVersion);
  all &= Bind(scope, "PyGILState_Check", &api->GilStateCheck);
  all &= Bind(scope, "PyGILState_GetThisThreadState", &api->GilStateThisThread);
  all &= Bind(scope, "Py_AddPendingCall", &api->AddPendingCall);
  all &= Bind(scope, "PyEval_GetFrame", &api->EvalGetFrame);
  all &= Bind(scope, "PyObject_GetAttrString", &api->GetAttr);
  all &= Bind(scope, "PyUnicode_AsUTF8AndSize", &api->TextUtf8);
  all &= Bind(scope, "PyBytes_AsStringAndSize", &api->BytesContent);
  all &= Bind(scope, "PyLong_AsLong", &api->LongValue);
  all &= Bind(scope, "Py_DecRef", &api->DecRef);
  all &= Bind(scope, "PyErr_Fetch", &api->ErrorFetch);
  all &= Bind(scope, "PyErr_Restore", &api->ErrorRestore);
  all &= Bind(scope, "PyErr_Clear", &api->ErrorClear);
  all &= Bind(scope, "PyErr_ExceptionMatches", &api->ErrorMatches);
  all &= Bind(scope, "PySys_GetObject", &api->SysGetObject);
  all &= Bind(scope, "PyException_GetTraceback", &api->ExceptionGetTraceback);
  all &= Bind(scope, "PyType_GetFlags", &api->TypeGetFlags);
  all &= Bind(scope, "PyType_IsSubtype", &api->TypeIsSubtype);
  all &= Bind(scope, "PyObject_Str", &api->Text);
  all &= Bind(scope, "PyImport_ImportModule", &api->Import);
  all &= Bind(scope, "PyImport_GetModule", &api->FindModule);
  all &= Bind(scope, "PyTuple_GetItem", &api->TupleItem);
  all &= Bind(scope, "PyCFunction_NewEx", &api->NewFunction);
  all &= Bind(scope, "PyObject_CallFunctionObjArgs", &api->Call);
  all &= Bind(scope, "Py_BuildValue", &api->Build);
  return all;
}

// Returns PY_VERSION_HEX for "3.11.2 (main, ...". The variable Py_Version exists only since 3.11.
uint32_t ParseVersion(const char* text) {
  unsigned major = 0, minor = 0, micro = 0, serial = 0;
  int used = 0;
  if (text == nullptr || sscanf(text, "%u.%u.%u%n", &major, &minor, &micro, &used) < 3) return 0;
  uint32_t level = 0xf;
  text += used;
  if (*text == 'a') level = 0xa;
  if (*text == 'b') level = 0xb;
  if (*text == 'r') level = 0xc;
  if (level != 0xf) serial = static_cast<unsigned>(atoi(text + (level == 0xc ? 2 : 1)));
  return (major & 0xff) << 24 | (minor & 0xff) << 16 | (micro & 0xff) << 8 | level << 4 |
         (serial & 0xf);
}

// Fills in all fields except the key, which the check finds later. Returns kNone on success.
ring::PythonOff Examine(void* scope, Interpreter* it) {
  // PyPy's names have a prefix of their own; _Py_NegativeRefcount exists in builds with
  // Py_REF_DEBUG.
  if (dlsym(scope, "PyPy_IsInitialized") != nullptr) return ring::PythonOff::kBuild;
  const bool bound = BindApi(scope, &it->api);
  it->scope = scope;
  if (it->api.GetVersion != nullptr) it->version_hex = ParseVersion(it->api.GetVersion());
  if (dlsym(scope, "_Py_NegativeRefcount") != nullptr) return ring::PythonOff::kBuild;
  const auto* runtime = static_cast<const unsigned char*>(dlsym(scope, "_PyRuntime"));
  it->runtime = reinterpret_cast<uint64_t>(runtime);
  const uint32_t version = rollcall::python::VersionOf(it->version_hex);
  if (version >= kFirstPublished && runtime != nullptr &&
      !IsReadable(it->runtime, kDebugOffsetsBytes)) {
    runtime = nullptr;
  }
  switch (rollcall::python::FindLayout(it->version_hex, runtime, &it->shape.layout)) {
    case LayoutResult::kFound:
      break;
    case LayoutResult::kUnknownVersion:
      return ring::PythonOff::kVersion;
    case LayoutResult::kOtherBuild:
    case LayoutResult::kDamaged:
      return ring::PythonOff::kBuild;
  }
  it->shape.frame_bytes = FrameBytes(it->shape.layout);
  it->shape.code_type = reinterpret_cast<uint64_t>(dlsym(scope, "PyCode_Type"));
  it->shape.frame_type = reinterpret_cast<uint64_t>(dlsym(scope, "PyFrame_Type"));
  it->shape.text_type = reinterpret_cast<uint64_t>(dlsym(scope, "PyUnicode_Type"));
  it->shape.bytes_type = reinterpret_cast<uint64_t>(dlsym(scope, "PyBytes_Type"));
  if (!bound || runtime == nullptr || it->shape.code_type == 0 || it->shape.frame_type == 0 ||
      it->shape.text_type == 0 || it->shape.bytes_type == 0) {
    return ring::PythonOff::kBuild;
  }
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  void* loop = dlsym(scope, "_PyEval_EvalFrameDefault");
  if (loop != nullptr &&
      dladdr1(loop, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) != 0 &&
      symbol != nullptr) {
    it->eval_begin = reinterpret_cast<uint64_t>(loop);
    it->eval_end = it->eval_begin + symbol->st_size;
  }
  return CanProbePages() ? ring::PythonOff::kNone : ring::PythonOff::kNoMemory;
}

bool IsOffByRequest() {
  const char* text = getenv(env::kPython);
  return text != nullptr && text[0] == '0' && text[1] == '\0';
}

void ShowState() {
  ring::FileHeader* header = g_process.header;
  StoreRelaxed(&header->python_version, g_interpreter.version_hex);
  StoreRelaxed(&header->python_off, g_off.load(std::memory_order_relaxed));
  StoreRelease(&header->python_state, g_state.load(std::memory_order_relaxed));
}

const char* Explain(ring::PythonOff why) {
  switch (why) {
    case ring::PythonOff::kVersion:
      return "this version of Python is not known";
    case ring::PythonOff::kBuild:
      return "this build of Python is not known (free-threaded, debug, or not CPython)";
    case ring::PythonOff::kDiffers:
      return "its frames as read differ from what Python reports";
    case ring::PythonOff::kNoMemory:
      return "the kernel does not report which memory is readable";
    default:
      return nullptr;
  }
}

}  // namespace

bool FindInterpreter() {
  if (State() != ring::PythonState::kAbsent) return true;
  if (!g_finding.TryLock()) return false;
  const ErrnoGuard keeper;
  bool found = false;
  void* scope = FindScope(&found);
  if (found && State() == ring::PythonState::kAbsent) {
    const ring::PythonOff off =
        IsOffByRequest() ? ring::PythonOff::kAsked : Examine(scope, &g_interpreter);
    g_off.store(static_cast<uint32_t>(off), std::memory_order_relaxed);
    const auto state =
        off == ring::PythonOff::kNone ? ring::PythonState::kUnchecked : ring::PythonState::kOff;
    g_state.store(static_cast<uint32_t>(state), std::memory_order_release);
  }
  dlerror();  // clear the error of a missing name, which is not the program's
  g_finding.Unlock();
  return found;
}

void PublishInterpreter() {
  if (State() == ring::PythonState::kAbsent) return;
  ShowState();
  const auto why = static_cast<ring::PythonOff>(g_off.load(std::memory_order_relaxed));
  if (const char* text = Explain(why)) PrintLine("no Python frames are recorded", text);
}

void SwitchOff(ring::PythonOff why) {
  const auto off = static_cast<uint32_t>(ring::PythonState::kOff);
  if (g_state.exchange(off, std::memory_order_acq_rel) == off) return;
  ClearKnownPages();
  g_off.store(static_cast<uint32_t>(why), std::memory_order_relaxed);
  const ErrnoGuard keeper;
  PublishInterpreter();
}

void SwitchOn() {
  auto state = static_cast<uint32_t>(ring::PythonState::kUnchecked);
  if (g_state.compare_exchange_strong(state, static_cast<uint32_t>(ring::PythonState::kOn),
                                      std::memory_order_acq_rel)) {
    ShowState();
  }
}

bool DetectReinitialization() {
  const auto finalizing = static_cast<uint32_t>(ring::PythonOff::kFinalizing);
  if (g_off.load(std::memory_order_relaxed) != finalizing || IsFinalizing()) return false;
  g_off.store(static_cast<uint32_t>(ring::PythonOff::kNone), std::memory_order_relaxed);
  g_interpreter.main_tid.store(0, std::memory_order_relaxed);
  g_state.store(static_cast<uint32_t>(ring::PythonState::kUnchecked), std::memory_order_release);
  ShowState();
  return true;
}

bool IsFinalizing() {
  const Interpreter& it = g_interpreter;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return LoadRelaxed(reinterpret_cast<const uint64_t*>(it.runtime +
                                                       it.shape.layout.runtime_finalizing)) != 0;
}

// PyGILState_Check alone is not enough: after a sub-interpreter was created, it always returns
// true.
uint64_t StateIfHolding() {
  const Api& api = g_interpreter.api;
  if (api.IsInitialized() == 0 || IsFinalizing()) return 0;
  if (api.GilStateCheck() != 1) return 0;
  void* own = api.GilStateThisThread();
  return own != nullptr && own == api.ThreadStateUnchecked() ? reinterpret_cast<uint64_t>(own) : 0;
}

bool MayBeOtherInterpreter() {
  const Interpreter& it = g_interpreter;
  const auto& layout = it.shape.layout;
  if (layout.version >= kFirstWithKeyPerSwap) return false;
  // NOLINTBEGIN(performance-no-int-to-ptr)
  return LoadRelaxed(
             reinterpret_cast<const uint64_t*>(it.runtime + layout.runtime_interpreters_head)) !=
         LoadRelaxed(
             reinterpret_cast<const uint64_t*>(it.runtime + layout.runtime_interpreters_main));
  // NOLINTEND(performance-no-int-to-ptr)
}

}  // namespace rollcall::shim::python
