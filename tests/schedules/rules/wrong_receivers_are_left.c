// SPDX-License-Identifier: Apache-2.0
// A send to a rank that does not exist is MPI's to reject.
//
// schedules-rule: ranks=2 follows=yes
// plan: synchronous
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = WorldRank();
  Require(MPI_Send(&value, 1, MPI_INT, 1 << 30, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no rank");
  if (value == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (value == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Require(value == 0, "the message arrives");
  MPI_Finalize();
  return 0;
}
