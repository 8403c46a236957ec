// SPDX-License-Identifier: Apache-2.0
// Messages of one sender arrive in the order of its sends, although the third one is chosen; and
// the plan is followed: they come before those of rank 2.
//
// schedules-rule: ranks=3 follows=yes
// plan: first 0 1:3 before 2:1
#include "tests/schedules/rules/rule.h"

enum { kEach = 4 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  if (rank == 0) {
    int next[3] = {0, 0, 0};
    for (int i = 0; i < 2 * kEach; ++i) {
      MPI_Status status;
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      Require(value == next[status.MPI_SOURCE]++, "messages of one sender keep their order");
      Require(status.MPI_SOURCE == 1 || next[1] >= 3, "the chosen message comes first");
    }
  } else {
    if (rank == 1) Sleep(0.1);
    for (int i = 0; i < kEach; ++i) MPI_Send(&i, 1, MPI_INT, 0, i % 2, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
