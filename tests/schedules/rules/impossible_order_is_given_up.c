// SPDX-License-Identifier: Apache-2.0
// Rank 1 sends only after the message of rank 2 was received: the plan cannot come about, and the
// program goes on.
//
// schedules-rule: ranks=3 follows=no
// plan: bound 200
// plan: first 0 1:1 before 2:1
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    Require(status.MPI_SOURCE == 2, "an answer follows its question");
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (value == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
