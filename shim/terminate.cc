// The handler that std::terminate calls may be the program's own, and is not touched: whichever it
// is, it ends in abort(), mostly, and there the exception is still being handled. Which one it was
// is asked of the C++ library that the program has loaded, by its ABI
// (https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html); ours does without one.
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

// The C++ library's; null without one.
struct CxxLibrary {
  const void* (*current_exception_type)() = nullptr;  // std::type_info
  const void* const* (*get_globals)() = nullptr;      // __cxa_eh_globals; first what is handled
  // The function what() of the two classes that keep a text, and hand it out as it is.
  const void* logic_error_what = nullptr;
  const void* runtime_error_what = nullptr;
  // What the type_info objects of classes with one base begin with.
  const void* single_base_vtable = nullptr;
};
constinit CxxLibrary g_cxx;
using Abort = void (*)();
[[maybe_unused]] constinit Abort g_next_abort = nullptr;

// std::type_info, and __si_class_type_info: the table of virtual functions, the name, the base.
struct TypeInfo {
  const void* vtable;
  const char* name;
  const TypeInfo* base;  // with `single_base_vtable` only
};

// What GCC puts before an exception's object (libsupc++/unwind-cxx.h), 64-bit: its type first, the
// unwinder's part last, which begins with a word that says whose exception it is.
constexpr size_t kExceptionBytes = 112;
constexpr size_t kUnwindHeader = 80;
constexpr uint64_t kGccException = 0x474e5543432b2b00;  // "GNUCC++", and no reference to another

// The exception that is being handled; null without one, and for a foreign one (a cancelled
// thread's, another language's), of which the C++ library, too, would read the type where there is
// none.
const char* CurrentException() {
  constexpr uint64_t kDependent = 1;  // std::rethrow_exception's: refers to another exception
  const auto* exception = static_cast<const char*>(*g_cxx.get_globals());
  if (exception == nullptr) return nullptr;
  const uint64_t owner = *reinterpret_cast<const uint64_t*>(exception + kUnwindHeader);
  return (owner | kDependent) == (kGccException | kDependent) ? exception : nullptr;
}

// The object that was thrown; null if it is not where it should be.
const void* ObjectOf(const char* exception, const TypeInfo* type) {
  if (*reinterpret_cast<const TypeInfo* const*>(exception) != type ||
      *reinterpret_cast<const uint64_t*>(exception + kUnwindHeader) != kGccException) {
    return nullptr;
  }
  return exception + kExceptionBytes;
}

// The text of a standard exception, or of one derived from it that has no what() of its own: then
// no code of the program's runs. Null if there is none, or it cannot be known.
const char* TextOf(const char* exception, const TypeInfo* type) {
  const void* object = ObjectOf(exception, type);
  if (object == nullptr) return nullptr;
  constexpr int kMaxBases = 16;
  constexpr size_t kWhat = 2;  // behind the two destructors
  int bases = 0;
  while (strcmp(type->name, "St9exception") != 0) {
    const bool single =
        g_cxx.single_base_vtable != nullptr && type->vtable == g_cxx.single_base_vtable;
    if (!single || ++bases > kMaxBases) return nullptr;
    type = type->base;  // at the same address: the only base, not virtual
  }
  using What = const char* (*)(const void*);
  const What what = (*static_cast<const What* const*>(object))[kWhat];
  const auto* address = reinterpret_cast<const void*>(what);
  const bool known = address != nullptr &&
                     (address == g_cxx.logic_error_what || address == g_cxx.runtime_error_what);
  return known ? what(object) : nullptr;
}

[[maybe_unused]] void NoteException(const void* frame) {
  if (!Recording() || g_cxx.current_exception_type == nullptr || g_cxx.get_globals == nullptr) {
    return;
  }
  const char* exception = CurrentException();
  if (exception == nullptr) return;
  const auto* type = static_cast<const TypeInfo*>(g_cxx.current_exception_type());
  if (type == nullptr || type->name == nullptr) return;
  const ErrnoKeeper keeper;
  const char* name = type->name + (*type->name == '*' ? 1 : 0);  // a local type's
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
  dlerror();  // a name that is not there is no error of the program's
}

}  // namespace rollcall::shim

#ifndef ROLLCALL_NO_EXPORTS
extern "C" ROLLCALL_EXPORT __attribute__((noreturn)) void abort() {
  rollcall::shim::NoteException(ROLLCALL_CALLER_FRAME());
  if (rollcall::shim::g_next_abort != nullptr) rollcall::shim::g_next_abort();
  // Nothing was looked up yet. What the library's does: a handler of the program's may run, and not
  // come back; then the signal's own action.
  sigset_t abort_only;
  sigemptyset(&abort_only);
  sigaddset(&abort_only, SIGABRT);
  sigprocmask(SIG_UNBLOCK, &abort_only, nullptr);
  raise(SIGABRT);
  // Asked of the kernel: no handler is set here, but the program's is taken away.
  const uint64_t no_handler[4] = {};
  syscall(SYS_rt_sigaction, SIGABRT, no_handler, nullptr, sizeof(uint64_t));
  raise(SIGABRT);
  for (;;) syscall(SYS_exit_group, 127);
}
#endif
