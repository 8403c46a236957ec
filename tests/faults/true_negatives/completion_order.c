// Nonblocking collectives are started in one order and completed in another on every rank, by Wait,
// Test, Waitany and Waitsome: correct.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Request requests[3];
  double in[2] = {rank, 1};
  double out[2] = {0, 0};
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(&in[0], &out[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Iallreduce(&in[1], &out[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &requests[2]);
  if (rank == 0) {
    for (int i = 2; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    for (int left = 3; left > 0; --left) {
      int index = 0;
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    }
  } else {
    for (int left = 3; left > 0;) {
      int done = 0;
      int indices[3];
      MPI_Waitsome(3, requests, &done, indices, MPI_STATUSES_IGNORE);
      left -= done;
    }
  }
  MPI_Request last;
  MPI_Ibarrier(MPI_COMM_WORLD, &last);
  for (int done = 0; !done;) MPI_Test(&last, &done, MPI_STATUS_IGNORE);
  Report("sum", out[0] + out[1]);
  MPI_Finalize();
  return 0;
}
