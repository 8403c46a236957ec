// SPDX-License-Identifier: Apache-2.0
// Rank 0 has a third chunk, and makes one MPI_Win_fence more where the others call MPI_Win_free.
//
// report: IAS-Astrophysics/athenak#404
// job: ranks=3 outcome=hung
// expect: kind=uneven-iterations|rank-conditional-collective culprits=0
// says: MPI_Win_fence
// says not: skipped MPI_Win_free
#include <mpi.h>
#include <stdio.h>
static int rank, size;

static void deposit(MPI_Win w, int chunks) {
  double v = rank;
  MPI_Win_fence(0, w);
  for (int c = 0; c < chunks; ++c) {
    MPI_Accumulate(&v, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, MPI_SUM, w);
    // the next chunk uses the same buffer

    MPI_Win_fence(0, w);  // @culprit
  }
}

static double project(int chunks) {
  double *cell, r;
  MPI_Win w;
  MPI_Win_allocate(sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &w);
  *cell = 0;
  deposit(w, chunks);
  r = *cell;
  MPI_Win_free(&w);
  return r;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double s = project(2);
#ifdef CONTROL
  s += project(3);
#else
  s += project(rank == 0 ? 3 : 2);
#endif
  if (rank == 0) printf("%g\n", s);
  MPI_Finalize();
  return 0;
}
