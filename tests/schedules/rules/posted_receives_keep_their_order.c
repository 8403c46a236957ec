// SPDX-License-Identifier: Apache-2.0
// A wildcard receive that was posted first takes the first message of rank 1, although a receive
// that names rank 1 was posted as well.
//
// schedules-rule: ranks=3 follows=yes
// plan: first 0 1:1 before 2:1
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  if (rank == 0) {
    int values[3] = {-1, -1, -1};
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&values[2], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, statuses);
    Require(statuses[0].MPI_SOURCE == 1 && values[0] == 10,
            "the first receive takes the first message");
    Require(statuses[1].MPI_SOURCE == 1 && values[1] == 11,
            "the second takes the next of its sender");
    Require(statuses[2].MPI_SOURCE == 2 && values[2] == 20, "the third takes what is left");
  } else {
    int value = 10 * rank;
    if (rank == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    ++value;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
