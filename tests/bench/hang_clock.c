/* SPDX-License-Identifier: Apache-2.0 */
/* Hangs, and says when: the moment from which a verdict is possible, as CLOCK_REALTIME on stdout.
 *   hang_clock skip    rank 0 skips a barrier and waits in the next collective
 *   hang_clock stall   rank 0 never comes back from a computation */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void SayNow(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alarm(300);
  int rank = 0;
  double value = 1, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    SayNow();
    if (argc > 1 && strcmp(argv[1], "stall") == 0) {
      for (volatile long i = 0;; ++i) {
      }
    }
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
