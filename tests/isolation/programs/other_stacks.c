/* SPDX-License-Identifier: Apache-2.0 */
/* MPI called from stacks that are not the thread's: a coroutine's, and a signal handler's alternate
 * one. */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "isolation.h"

static ucontext_t outside, inside;

static void Coroutine(void) {
  for (int i = 0; i < 10; ++i) {
    Barriers(1);
    swapcontext(&inside, &outside);
    Allreduces(1);
  }
}

static void OnSignal(int number) {
  (void)number;
  Barriers(1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const size_t bytes = 256 << 10;
  char* stack =
      (char*)mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(stack != MAP_FAILED);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = bytes;
  inside.uc_link = &outside;
  makecontext(&inside, Coroutine, 0);
  for (int i = 0; i < 11; ++i) {
    swapcontext(&outside, &inside);
    Barriers(1);
  }
  const stack_t alternate = {.ss_sp = stack + bytes, .ss_size = bytes, .ss_flags = 0};
  REQUIRE(sigaltstack(&alternate, NULL) == 0);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = OnSignal;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 5; ++i) raise(SIGUSR1);
  Barriers(1);
  printf("done\n");
  MPI_Finalize();
  return 0;
}
