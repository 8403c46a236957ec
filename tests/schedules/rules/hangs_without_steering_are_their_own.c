// SPDX-License-Identifier: Apache-2.0
// The verdict of a hang says that no rank was steered.
//
// schedules-rule: ranks=2 follows=yes code=1 options=--kill-after=1,--stall-after=2
// plan: synchronous
// says: not steered: this came about by itself
#include <stdlib.h>

#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  unsetenv("ROLLCALL_STEER");
  MPI_Init(&argc, &argv);
  int value = WorldRank();
  if (value == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
