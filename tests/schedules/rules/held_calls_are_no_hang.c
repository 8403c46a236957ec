// SPDX-License-Identifier: Apache-2.0
// While the plan holds a call, ranks that stand still have no hang, and the job's time is not its
// own.
//
// schedules-rule: ranks=3 follows=no options=--timeout=3,--kill-after=1
// plan: bound 600000
// plan: first 0 1:2 before 2:1
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
