// SPDX-License-Identifier: Apache-2.0
// A rank that waits before a call and is slow in others still ends, with the same result.
//
// schedules-rule: ranks=2 follows=yes
// plan: bound 100
// plan: delay 0 receive 2 50
// plan: slow 1 20000
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  for (int i = 0; i < 20; ++i) {
    int value = i;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      Require(value == i, "the messages arrive in order");
    }
  }
  MPI_Finalize();
  return 0;
}
