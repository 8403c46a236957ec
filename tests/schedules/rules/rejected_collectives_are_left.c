// SPDX-License-Identifier: Apache-2.0
// Collectives that MPI rejects because of their arguments have no effect: only rank 0 calls them,
// and no barrier comes before them.
//
// schedules-rule: ranks=3 follows=yes
// plan: barriers
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = WorldRank();
  if (value == 0) {
    Require(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no type");
    Require(MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no count");
    Require(MPI_Bcast(&value, 1, MPI_INT, 77, MPI_COMM_WORLD) != MPI_SUCCESS, "no root");
  }
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  Require(value == 0, "the broadcast arrives");
  MPI_Finalize();
  return 0;
}
