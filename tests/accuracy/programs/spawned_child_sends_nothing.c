// SPDX-License-Identifier: Apache-2.0
// The second of two spawned processes has no work and ends without the result for which rank 0 of
// the parents waits.
//
// job: ranks=2 outcome=hung mpi=openmpi
// expect: kind=p2p-unmatched|finalized-early|rank-died culprits=any
// says: MPI_Recv
#include <mpi.h>
#include <stdio.h>

enum { kChildren = 2 };

static int child(MPI_Comm parent) {
  int rank, tasks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&tasks, 1, MPI_INT, 0, parent);
#ifndef CONTROL
  if (rank >= tasks) {
    MPI_Finalize();
    return 0;
  }
#endif
  double result = 10.0 + rank;
  MPI_Send(&result, 1, MPI_DOUBLE, 0, 4, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

static double gather_results(MPI_Comm children, int n) {
  double sum = 0;
  for (int c = 0; c < n; ++c) {
    double one;
    MPI_Recv(&one, 1, MPI_DOUBLE, c, 4, children, MPI_STATUS_IGNORE);
    sum += one;
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, children;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent);
  int rank, tasks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Bcast(&tasks, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
  if (rank == 0) printf("%g\n", gather_results(children, kChildren));
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}
