// SPDX-License-Identifier: Apache-2.0
// std::terminate calls a handler, which may be the program's own. The shim does not replace the
// handler. Nearly every handler ends in abort(), where the exception is still being handled. The
// exception is read through the ABI of the C++ library that the program has loaded
// (https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html). The shim itself is not linked with a C++
// library.
#include "shim/terminate.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "shim/call_paths.h"
#include "shim/process.h"

namespace rollcall::shim {
namespace {

// Symbols of the C++ library; null if no C++ library is loaded.
struct CxxLibrary {
  const void* (*current_exception_type)() = nullptr;  // std::type_info
  const void* const* (*get_globals)() = nullptr;      // __cxa_eh_globals: first the handled one
  // what() of the two classes that store a text and return it unchanged.
  const void* logic_error_what = nullptr;
  const void* runtime_error_what = nullptr;
  // The vtable pointer of the type_info objects of classes with a single base.
  const void* single_base_vtable = nullptr;
};
constinit CxxLibrary g_cxx;
using Abort = void (*)();
[[maybe_unused]] constinit Abort g_next_abort = nullptr;

// The layout of std::type_info and __si_class_type_info: vtable, name, base.
struct TypeInfo {
  const void* vtable;
  const char* name;
  const TypeInfo* base;  // with `single_base_vtable` only
};

// The header that GCC puts before an exception object (libsupc++/unwind-cxx.h), 64-bit: it begins
// with the type and ends with the unwinder's part, whose first word identifies the language.
constexpr size_t kExceptionBytes = 112;
constexpr size_t kUnwindHeader = 80;
constexpr uint64_t kGccException = 0x474e5543432b2b00;  // "GNUCC++\0": not a dependent exception

// Returns the exception that is being handled. Returns null if there is none, or if it is a foreign
// exception (of a cancelled thread, or of another language): a foreign exception has no type, and
// even the C++ library would read a wrong one.
const char* CurrentException() {
  constexpr uint64_t kDependent = 1;  // by std::rethrow_exception: refers to another exception
  const auto* exception = static_cast<const char*>(*g_cxx.get_globals());
  if (exception == nullptr) return nullptr;
  const uint64_t owner = *reinterpret_cast<const uint64_t*>(exception + kUnwindHeader);
  return (owner | kDependent) == (kGccException | kDependent) ? exception : nullptr;
}

// The object that was thrown; null if the header is not as expected.
const void* ObjectOf(const char* exception, const TypeInfo* type) {
  if (*reinterpret_cast<const TypeInfo* const*>(exception) != type ||
      *reinterpret_cast<const uint64_t*>(exception + kUnwindHeader) != kGccException) {
    return nullptr;
  }
  return exception + kExceptionBytes;
}

// Returns the text of a standard exception, or of a derived exception that does not override
// what(): no code of the program may run. Null if there is no text or it cannot be read.
const char* TextOf(const char* exception, const TypeInfo* type) {
  const void* object = ObjectOf(exception, type);
  if (object == nullptr) return nullptr;
  constexpr int kMaxBases = 16;
  constexpr size_t kWhat = 2;  // index in the vtable, after the two destructors
  int bases = 0;
  while (strcmp(type->name, "St9exception") != 0) {
    const bool single =
        g_cxx.single_base_vtable != nullptr && type->vtable == g_cxx.single_base_vtable;
    if (!single || ++bases > kMaxBases) return nullptr;
    type = type->base;  // the object's address is the same: the base is single and not virtual
  }
  using What = const char* (*)(const void*);
  const What what = (*static_cast<const What* const*>(object))[kWhat];
  const auto* address = reinterpret_cast<const void*>(what);
  const bool known = address != nullptr &&
                     (address == g_cxx.logic_error_what || address == g_cxx.runtime_error_what);
  return known ? what(object) : nullptr;
}

[[maybe_unused]] void NoteException(CallerFrame frame) {
  if (!Recording() || g_cxx.current_exception_type == nullptr || g_cxx.get_globals == nullptr) {
    return;
  }
  const char* exception = CurrentException();
  if (exception == nullptr) return;
  const auto* type = static_cast<const TypeInfo*>(g_cxx.current_exception_type());
  if (type == nullptr || type->name == nullptr) return;
  const ErrnoGuard keeper;
  const char* name = type->name + (*type->name == '*' ? 1 : 0);  // '*' marks a local type
  constexpr size_t kMaxText = 1024;
  const char* text = TextOf(exception, type);
  const size_t length = text == nullptr ? 0 : strcspn(text, "\n");
  const auto intern = [](const char* bytes, size_t count) {
    return InternBytes(bytes, static_cast<uint32_t>(count < kMaxText ? count : kMaxText));
  };
  MarkException({.kind = ring::ExceptionKind::kCPlusPlus,
                 .type = intern(name, strlen(name)),
                 .message = length == 0 ? 0 : intern(text, length),
                 .call_path = CurrentCallPath(frame).id});
}

}  // namespace

void PrepareForTerminate() {
  const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  g_next_abort = reinterpret_cast<Abort>(dlsym(RTLD_NEXT, "abort"));
  g_cxx.current_exception_type =
      reinterpret_cast<const void* (*)()>(find("__cxa_current_exception_type"));
  g_cxx.get_globals = reinterpret_cast<const void* const* (*)()>(find("__cxa_get_globals"));
  g_cxx.logic_error_what = find("_ZNKSt11logic_error4whatEv");
  g_cxx.runtime_error_what = find("_ZNKSt13runtime_error4whatEv");
  constexpr size_t kHead = 2 * sizeof(void*);  // offset to top, type
  if (const void* table = find("_ZTVN10__cxxabiv120__si_class_type_infoE")) {
    g_cxx.single_base_vtable = static_cast<const char*>(table) + kHead;
  }
  dlerror();  // clear the error of a missing name, which is not the program's
}

}  // namespace rollcall::shim

#ifndef ROLLCALL_NO_EXPORTS
extern "C" ROLLCALL_EXPORT __attribute__((noreturn)) void abort() {
  rollcall::shim::NoteException(ROLLCALL_CALLER_FRAME());
  if (rollcall::shim::g_next_abort != nullptr) rollcall::shim::g_next_abort();
  // The next abort() was not looked up yet, so this code does the same as the C library's. First it
  // runs the program's handler, which may not return. Then it causes the default action of the
  // signal.
  sigset_t abort_only;
  sigemptyset(&abort_only);
  sigaddset(&abort_only, SIGABRT);
  sigprocmask(SIG_UNBLOCK, &abort_only, nullptr);
  raise(SIGABRT);
  // Resets the program's handler to the default action, by a system call.
  const uint64_t no_handler[4] = {};
  syscall(SYS_rt_sigaction, SIGABRT, no_handler, nullptr, sizeof(uint64_t));
  raise(SIGABRT);
  for (;;) syscall(SYS_exit_group, 127);
}
#endif
