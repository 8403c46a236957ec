// SPDX-License-Identifier: Apache-2.0
// Sessions: communicators made without MPI_COMM_WORLD (MPI 4.0).
#include "tests/every_call/every_call.h"

#if MPI_VERSION >= 4
static void Use(MPI_Comm comm) {
  int sum = 0;
  const int one = 1;
  DO(MPI_Allreduce, &one, &sum, 1, MPI_INT, MPI_SUM, comm);
  Observe(&sum, sizeof(sum));
  DO(MPI_Comm_free, &comm);
}

int main(void) {
  MPI_Session session = MPI_SESSION_NULL;
  DO(MPI_Session_init, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group world = MPI_GROUP_NULL;
  DO(MPI_Group_from_session_pset, session, "mpi://WORLD", &world);
  MPI_Comm comm = MPI_COMM_NULL;
  DO(MPI_Comm_create_from_group, world, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  Use(comm);
  const int ranks[2] = {rank, 1 - rank};
  MPI_Group mine = MPI_GROUP_NULL;
  MPI_Group others = MPI_GROUP_NULL;
  MPI_Group_incl(world, 1, &ranks[0], &mine);
  MPI_Group_incl(world, 1, &ranks[1], &others);
  DO(MPI_Intercomm_create_from_groups, mine, 0, others, 0, "both", MPI_INFO_NULL,
     MPI_ERRORS_ARE_FATAL, &comm);
  Use(comm);
  MPI_Group_free(&mine);
  MPI_Group_free(&others);
  MPI_Group_free(&world);
  DO(MPI_Session_finalize, &session);
  return Finish("rank", rank);
}
#else
int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  DO(MPI_Finalize);
  return Finish("without sessions: rank", 0);
}
#endif
