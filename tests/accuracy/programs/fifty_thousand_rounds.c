// SPDX-License-Identifier: Apache-2.0
// The loop ends at a time that is a sum of time steps. The sum is rounded differently on rank 1,
// which adds the steps in halves: it makes 49,999 rounds, and the others 50,000. More than a ring
// of records holds.
//
// job: ranks=3 outcome=hung mpi=openmpi
// expect: kind=uneven-iterations culprits=1
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static double shift(double mine) {
  double got = 0;
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 5, &got, 1, MPI_DOUBLE,
               (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return got;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double dt = 1.0 / 50000;
  double x = rank, t = 0;
  long rounds = 0;
#ifdef CONTROL
  while (rounds < 50000) {
#else
  while (t < 1 - (rank == 1 ? 1.5 : 0.5) * dt) { /* what rounding made of it */
#endif
    x = 0.5 * (x + shift(x));
    t += dt;
    ++rounds;
  }
  double mean = 0;
  MPI_Reduce(&x, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) printf("%ld rounds, %g\n", rounds, mean / size);
  MPI_Finalize();  // @culprit
  return 0;
}
