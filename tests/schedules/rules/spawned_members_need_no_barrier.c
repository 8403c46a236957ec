// SPDX-License-Identifier: Apache-2.0
// Spawned processes are not steered: a collective of a communicator that contains them gets no
// barrier.
//
// schedules-rule: ranks=2 follows=no mpi=openmpi
// plan: barriers
#include "tests/schedules/rules/rule.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm children;
  MPI_Comm all;
  int value = WorldRank() + 1;
  MPI_Comm_get_parent(&parent);
  const int spawned = parent != MPI_COMM_NULL;
  if (!spawned) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
  }
  MPI_Intercomm_merge(spawned ? parent : children, spawned, &all);
  MPI_Bcast(&value, 1, MPI_INT, 0, all);
  Require(value == 1, "the broadcast arrives");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(spawned ? &parent : &children);
  MPI_Finalize();
  return 0;
}
