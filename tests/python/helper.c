/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the Python programs here need from C: they call MPI while the interpreter's state
 * is damaged, and from threads without Python frames. Loaded by ctypes. MPI functions are passed as
 * pointers, so that one binary serves every MPI. `comm` is a handle, passed as an opaque word. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int (*Barrier)(void* comm);

/* Calls barrier while *where is `value`. The caller may hold the GIL or not. */
int with_word(uint64_t* where, uint64_t value, Barrier barrier, void* comm) {
  const uint64_t was = *where;
  *where = value;
  const int result = barrier(comm);
  *where = was;
  return result;
}

/* Returns whether a code address is in the interpreter's loop. */
int is_loop(uint64_t pc) {
  Dl_info info;
  return dladdr((void*)pc, &info) != 0 && info.dli_sname != NULL &&
         strcmp(info.dli_sname, "_PyEval_EvalFrameDefault") == 0;
}

/* Returns the address of a page that cannot be read. */
uint64_t forbidden_page(void) {
  return (uint64_t)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Returns the address of a copy of `bytes` bytes that ends where an unreadable page begins. */
uint64_t at_end_of_page(const void* from, uint64_t bytes) {
  char* pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  memcpy(pages + 4096 - bytes, from, bytes);
  return (uint64_t)(pages + 4096 - bytes);
}

static struct {
  Barrier barrier;
  void* comm;
  volatile int stop;
  volatile int calls;
  int tid;
  int limit;
} loop;

static void* run_loop(void* unused) {
  (void)unused;
  loop.tid = (int)syscall(SYS_gettid);
  while (!loop.stop && (loop.limit == 0 || loop.calls < loop.limit)) {
    loop.barrier(loop.comm);
    ++loop.calls;
  }
  return NULL;
}

static pthread_t thread;

/* Starts a thread without Python state that calls barrier `limit` times (0: until stop_thread). */
void start_thread(Barrier barrier, void* comm, int limit) {
  loop.barrier = barrier;
  loop.comm = comm;
  loop.limit = limit;
  loop.stop = loop.calls = 0;
  pthread_create(&thread, NULL, run_loop, NULL);
}
int thread_id(void) { return loop.tid; }
int thread_calls(void) { return loop.calls; }
int join_thread(void) {
  pthread_join(thread, NULL);
  return loop.tid;
}
int stop_thread(void) {
  loop.stop = 1;
  return join_thread();
}

/* Calls barrier in the calling thread until the process ends. */
void barriers_for_ever(Barrier barrier, void* comm) {
  for (;;) barrier(comm);
}

/* The kernel's Syscall User Dispatch (Linux 5.11): while `selector` is kBlock, each system call
 * of the thread raises SIGSYS instead. */
enum { kDispatch = 59, kAllow = 0, kBlock = 1 };
static volatile char selector = kAllow;
static volatile int caught;

static void on_system_call(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  selector = kAllow;
  caught = info->si_syscall + 1;
}

enum { kDetect = 0, kMakeOne = 1, kJustCall = 2 };

/* Calls barrier `count` times. Returns 0 if it made no system call, 1 + the number of a system call
 * that was made, or -1 if the kernel lacks Syscall User Dispatch. kMakeOne makes a system call on
 * purpose. kJustCall does not detect any, at the same call site (a detected system call is not
 * executed). */
int quiet_barriers(Barrier barrier, void* comm, int count, int how) {
  struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO}, old;
  if (prctl(kDispatch, 1, 0, 0, &selector) != 0) return -1;
  sigaction(SIGSYS, &action, &old);
  caught = 0;
  selector = how == kJustCall ? kAllow : kBlock;
  for (int i = 0; i < count; ++i) barrier(comm);
  if (how == kMakeOne) syscall(SYS_getppid);
  selector = kAllow;
  sigaction(SIGSYS, &old, NULL);
  prctl(kDispatch, 0, 0, 0, NULL);
  return caught;
}
