// SPDX-License-Identifier: Apache-2.0
// The barriers in front of collectives are on the communicator of each collective: of a part of the
// ranks, and of none on an intercommunicator.
//
// schedules-rule: ranks=4 follows=yes
// plan: barriers
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int low = rank < 2;
  MPI_Comm half;
  MPI_Comm both;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? 2 : 0, 7, &both);
  int value = rank;
  int sum = 0;
  if (low) MPI_Bcast(&value, 1, MPI_INT, 0, half);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 3, MPI_COMM_WORLD);
  if (rank == 3) Require(sum == 0 + 0 + 2 + 3, "the results stay the same");
  MPI_Bcast(&value, 1, MPI_INT, low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, both);
  Require(low || value == 0, "a broadcast between groups arrives");
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
