// The exported dlsym, by which programs that load NCCL themselves are recorded (JAX, vLLM, SGLang,
// XGBoost, ctypes). If `name` has a wrapper and the handle leads to a real function, it returns the
// wrapper. Everything else is passed on by a tail jump, because with RTLD_NEXT and RTLD_DEFAULT the
// result depends on dlsym's return address.
//
// x86-64 only: on other processors dlsym is not wrapped, and such programs are not recorded.
#if !defined(ROLLCALL_NO_EXPORTS) && defined(__x86_64__)

#include <dlfcn.h>

#include <cstdint>

#include "shim/nccl/binding.h"
#include "shim/platform.h"

namespace {

using Dlsym = void* (*)(void*, const char*);

// The C library's dlsym. It moved from libdl to libc in glibc 2.34; the old symbol version remains.
Dlsym RealDlsym() {
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return reinterpret_cast<Dlsym>(found);
}

void* const kAbsent = reinterpret_cast<void*>(1);

}  // namespace

extern "C" {

// Read by the stub below. Set before its first use, always to the same value.
__attribute__((visibility("hidden"))) void* rollcall_real_dlsym = nullptr;

// Returns the wrapper to use; nullptr: pass the call on to the real dlsym; kAbsent: the name is not
// found. The second look-up by the tail jump leaves dlerror() as the program expects it.
__attribute__((visibility("hidden"), used)) void* RollcallLookUp(void* handle, const char* name) {
  using namespace rollcall::shim;  // NOLINT
  if (__builtin_expect(__atomic_load_n(&rollcall_real_dlsym, __ATOMIC_ACQUIRE) == nullptr, 0)) {
    const ErrnoGuard keeper;
    __atomic_store_n(&rollcall_real_dlsym, reinterpret_cast<void*>(RealDlsym()), __ATOMIC_RELEASE);
  }
  if (handle == RTLD_NEXT || name == nullptr || !nccl::MayHaveWrapper(name)) return nullptr;
  const ErrnoGuard keeper;
  const auto real = reinterpret_cast<Dlsym>(rollcall_real_dlsym);
  if (real == nullptr) return nullptr;
  void* found = real(handle, name);
  if (found == nullptr) return nullptr;
  if (!nccl::IsWrapper(name, found)) return nccl::WrapperFor(name, found);
  // In the global scope, the wrapper itself is found. A program that checks whether its NCCL has a
  // function must get the answer for its NCCL.
  return real(RTLD_NEXT, name) == nullptr ? kAbsent : nullptr;
}

}  // extern "C"

// Saves both arguments across the call of RollcallLookUp and aligns the stack for it.
__asm__(
    ".pushsection .text\n"
    ".globl dlsym\n"
    ".type dlsym, @function\n"
    "dlsym:\n"
    ".cfi_startproc\n"
    "  endbr64\n"
    "  pushq %rdi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  pushq %rsi\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  subq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset 8\n"
    "  call RollcallLookUp\n"
    "  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rsi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  popq %rdi\n"
    "  .cfi_adjust_cfa_offset -8\n"
    "  testq %rax, %rax\n"
    "  jne 1f\n"
    "  jmpq *rollcall_real_dlsym(%rip)\n"
    "1: cmpq $1, %rax\n"
    "  jne 2f\n"
    "  xorl %eax, %eax\n"
    "2: ret\n"
    ".cfi_endproc\n"
    ".size dlsym, .-dlsym\n"
    ".popsection\n");

#endif
