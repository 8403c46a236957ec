// SPDX-License-Identifier: Apache-2.0
// Each rank receives with its own rank in the tag instead of the sender's.
//
// report: IPPL-framework/ippl#90
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched culprits=any attach-kind=p2p-deadlock
// says: tag 10\d.*tag 10\d
// says not: use MPI_Sendrecv
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  double mine = rank, got = -1;
#ifdef CONTROL
  const int theirs = 100 + left;
#else
  const int theirs = 100 + rank;
#endif
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, 100 + rank, &got, 1, MPI_DOUBLE, left, theirs,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d got %g\n", rank, got);
  MPI_Finalize();
  return 0;
}
