/* SPDX-License-Identifier: Apache-2.0 */
/* A storm of signals whose handler calls MPI, too. Not legal for an MPI program, and yet done
   (profilers, check-points on SIGUSR1): what it does to the program must not get worse, and what is
   recorded must not be false. */
#include <signal.h>
#include <sys/time.h>

#include "isolation.h"

static volatile sig_atomic_t handled;

static void Handler(int number) {
  (void)number;
  MPI_Barrier(MPI_COMM_SELF);
  ++handled;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(1);
  Allreduces(1);
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = Handler;
  action.sa_flags = SA_RESTART;
  REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
  REQUIRE(sigaction(SIGPROF, &action, NULL) == 0);
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  REQUIRE(setitimer(ITIMER_REAL, &often, NULL) == 0);
  REQUIRE(setitimer(ITIMER_PROF, &often, NULL) == 0);
  while (handled < 400) Allreduces(100);
  REQUIRE(setitimer(ITIMER_REAL, &never, NULL) == 0);
  REQUIRE(setitimer(ITIMER_PROF, &never, NULL) == 0);
  Allreduces(10);
  printf("handled enough\n");
  MPI_Finalize();
  return 0;
}
