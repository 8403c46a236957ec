// SPDX-License-Identifier: Apache-2.0
// MPI ignores some arguments of a collective on some ranks: a receive side away from the root of a
// gather, and the side that a root replaces by MPI_IN_PLACE. All ranks get their barriers.
//
// schedules-rule: ranks=3 follows=yes
// plan: barriers
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  int mine = rank + 1;
  int all[3] = {1, 2, 3};
  int counts[3] = {1, 1, 1};
  int places[3] = {0, 1, 2};
  if (rank == 0) {
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, 0,
                MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Scatterv(all, counts, places, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, 0,
                 MPI_COMM_WORLD);
  } else {
    MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Gather(&mine, 1, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Gatherv(&mine, 1, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Scatter(NULL, -1, MPI_DATATYPE_NULL, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
  Require(mine == rank + 1 && all[2] == 3, "the results stay the same");
  MPI_Finalize();
  return 0;
}
