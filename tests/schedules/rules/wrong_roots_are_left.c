// SPDX-License-Identifier: Apache-2.0
// A collective whose root MPI rejects has no effect: only rank 0 calls it, and no barrier comes
// before it.
//
// schedules-rule: ranks=3 follows=yes
// plan: barriers
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = WorldRank();
  if (value == 0) {
    Require(MPI_Bcast(&value, 1, MPI_INT, 77, MPI_COMM_WORLD) != MPI_SUCCESS, "no root");
    Require(MPI_Bcast(&value, 1, MPI_INT, -77, MPI_COMM_WORLD) != MPI_SUCCESS, "no root");
  }
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  Require(value == 0, "the broadcast arrives");
  MPI_Finalize();
  return 0;
}
