/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what the recorder does besides recording: system calls and allocations made by
   librollcall.so. After every call path was seen once there must be none. With "first" it counts
   from the first call on, where there must be some, or else the counting is broken.

   System calls are caught by the kernel's Syscall User Dispatch (Linux 5.11:
   Documentation/admin-guide/ syscall-user-dispatch.rst) and made by the handler; one is the
   recorder's if the first code above the C library is. The MPI library makes some of its own when
   it polls. Allocations are caught by malloc and its kin, defined here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "isolation.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

enum { kSkipped = 77, kAllow = 0, kBlock = 1 };
static volatile char selector = kAllow;
static volatile int counting;
static volatile long allocations, system_calls, others_system_calls;
static char names[4096];

static int IsRecorder(const void* address) {
  Dl_info where;
  return dladdr(address, &where) != 0 && strstr(where.dli_fname, "rollcall.so") != NULL;
}

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

static void Count(const void* caller) {
  if (counting && IsRecorder(caller)) ++allocations;
}
void* malloc(size_t size) {
  Count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  Count(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  Count(__builtin_return_address(0));
  return __libc_realloc(block, size);
}
void free(void* block) {
  Count(__builtin_return_address(0));
  __libc_free(block);
}

#ifdef __x86_64__
static const void* libc_base;

static void OnSystemCall(int number, siginfo_t* info, void* context) {
  (void)number;
  selector = kAllow;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  void* frames[24];
  const int depth = backtrace(frames, 24);
  int recorder = 0;
  for (int i = 2; i < depth; ++i) { /* past this handler and its return */
    Dl_info where;
    if (dladdr(frames[i], &where) != 0 &&
        (where.dli_fbase == libc_base || strstr(where.dli_fname, "libucm") != NULL)) {
      continue; /* UCX puts itself before mmap and its kin */
    }
    recorder = IsRecorder(frames[i]);
    break;
  }
  if (recorder) {
    ++system_calls;
    snprintf(names + strlen(names), sizeof(names) - strlen(names), " %d", info->si_syscall);
  } else {
    ++others_system_calls;
  }
  long result =
      syscall(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
              registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  registers[REG_RAX] = result == -1 ? -errno : result;
  selector = kBlock;
}

/* The way back from the handler is a system call, too, made while everything is blocked: from here,
   which the kernel is told to let pass. */
void Restore(void);
extern const char restore_end[];
__asm__(
    ".pushsection .text\n"
    ".globl Restore\n"
    "Restore: mov $15, %rax\n" /* rt_sigreturn */
    "syscall\n"
    ".globl restore_end\n"
    "restore_end: nop\n"
    ".popsection\n");

/* As the kernel has it (linux/signal.h), which libc's sigaction fills with a restorer of its own.
 */
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static int Arm(void) {
  Dl_info where;
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "write"), &where) != 0);
  libc_base = where.dli_fbase;
  void* frames[4];
  backtrace(frames, 4);                           /* loads the unwinder */
  const unsigned long restorer_flag = 0x04000000; /* SA_RESTORER */
  const struct KernelAction action = {OnSystemCall, SA_SIGINFO | restorer_flag, Restore, 0};
  REQUIRE(syscall(SYS_rt_sigaction, SIGSYS, &action, NULL, 8) == 0);
  return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, (unsigned long)&Restore,
               (unsigned long)(restore_end - (const char*)&Restore + 1), &selector);
}
#endif

/* With several ranks, collectives on all of them; otherwise nothing waits for another process. */
static MPI_Comm comm;
static int rank, size;

static void Work(int times) {
  static double in[40], out[40];
  for (int i = 0; i < times; ++i) {
    MPI_Barrier(comm);
    MPI_Allreduce(in, out, 40, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Bcast(in, 1, MPI_DOUBLE, 0, comm);
    MPI_Request requests[2];
    MPI_Irecv(out, 1, MPI_INT, rank, 5, comm, &requests[0]);
    MPI_Isend(in, 1, MPI_INT, rank, 5, comm, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Iallreduce(in, out, 40, MPI_DOUBLE, MPI_MAX, comm, &requests[0]);
    MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
  }
}

int main(int argc, char** argv) {
#ifndef __x86_64__
  (void)argc;
  (void)argv;
  printf("only on x86-64\n");
  return kSkipped;
#else
  const int from_first = argc > 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comm = size > 1 ? MPI_COMM_WORLD : MPI_COMM_SELF;
  MPI_Comm_rank(comm, &rank);
  if (!from_first) Work(size > 1 ? 10 : 200);
  if (Arm() != 0) {
    printf("no Syscall User Dispatch here\n");
    return kSkipped;
  }
  counting = 1;
  selector = kBlock;
  Work(from_first ? 1 : size > 1 ? 30 : 20000);
  selector = kAllow;
  counting = 0;
  prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
  if (from_first) {
    printf("counted system calls %d\n", system_calls > 0);
  } else {
    printf("the recorder's system calls %ld%s, allocations %ld\n", system_calls, names,
           allocations);
  }
  fprintf(stderr, "others' system calls: %ld\n", others_system_calls);
  MPI_Finalize();
  return 0;
#endif
}
