// SPDX-License-Identifier: Apache-2.0
// A plan names ranks of MPI_COMM_WORLD. On this communicator the ranks are reversed.
//
// schedules-rule: ranks=3 follows=yes
// plan: first 0 1:1 before 2:1
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  const int root = WorldSize() - 1;
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -value, &reversed);
  if (value == 0) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, reversed, MPI_STATUS_IGNORE);
    Require(value == 1, "the message of rank 1 comes first");
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, reversed, MPI_STATUS_IGNORE);
  } else {
    if (value == 1) Sleep(0.1);
    MPI_Send(&value, 1, MPI_INT, root, 0, reversed);
  }
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return 0;
}
