// SPDX-License-Identifier: Apache-2.0
// The exported dlsym. It makes it possible to record programs that load NCCL themselves (JAX, vLLM,
// SGLang, XGBoost, ctypes). If `name` has a wrapper and the real dlsym finds a function for the
// handle, dlsym returns the wrapper. All other calls are passed on by a tail jump, because with
// RTLD_NEXT and RTLD_DEFAULT the result depends on dlsym's return address.
//
// x86-64 and AArch64 only: on other processors dlsym is not wrapped, and such programs are not
// recorded.
#if !defined(ROLLCALL_NO_EXPORTS) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>

#include <cstdint>

#include "shim/nccl/binding.h"
#include "shim/platform.h"

namespace {

using Dlsym = void* (*)(void*, const char*);

// The C library's dlsym. It moved from libdl to libc in glibc 2.34; the old symbol version remains,
// which is glibc's first for the processor: x86-64, AArch64.
Dlsym RealDlsym() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
  }
  return nullptr;
}

void* const kAbsent = reinterpret_cast<void*>(1);

}  // namespace

extern "C" {

// Read by the stub below. Set before its first use, always to the same value.
__attribute__((visibility("hidden"))) void* rollcall_real_dlsym = nullptr;

// Returns the wrapper that dlsym has to return; nullptr to pass the call on to the real dlsym;
// kAbsent if dlsym has to return a null pointer. When the call is passed on, the second look-up by
// the tail jump sets dlerror() as the program expects it.
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
  // The real dlsym has found the wrapper itself, in the global scope. A program that checks whether
  // its NCCL has a function must get the answer for its NCCL, so the name is absent if there is no
  // next function.
  return real(RTLD_NEXT, name) == nullptr ? kAbsent : nullptr;
}

}  // extern "C"

// Saves both arguments across the call of RollcallLookUp and aligns the stack for it.
#if defined(__x86_64__)
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
#else
__asm__(  // hint #34 is BTI c; it permits a jump by x16 to land on such an instruction
    ".pushsection .text\n"
    ".globl dlsym\n"
    ".type dlsym, %function\n"
    "dlsym:\n"
    ".cfi_startproc\n"
    "  hint #34\n"
    "  stp x29, x30, [sp, #-32]!\n"
    "  .cfi_def_cfa_offset 32\n"
    "  .cfi_offset x29, -32\n"
    "  .cfi_offset x30, -24\n"
    "  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n"
    "  bl RollcallLookUp\n"
    "  mov x2, x0\n"
    "  ldp x0, x1, [sp, #16]\n"
    "  ldp x29, x30, [sp], #32\n"
    "  .cfi_restore x30\n"
    "  .cfi_restore x29\n"
    "  .cfi_def_cfa_offset 0\n"
    "  cbnz x2, 1f\n"
    "  adrp x16, rollcall_real_dlsym\n"
    "  ldr x16, [x16, #:lo12:rollcall_real_dlsym]\n"
    "  br x16\n"
    "1: cmp x2, #1\n"
    "  csel x0, xzr, x2, eq\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size dlsym, .-dlsym\n"
    ".popsection\n");
#endif

#endif
