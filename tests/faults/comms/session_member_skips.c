// A library with a session of its own, without MPI_COMM_WORLD: one rank skips a barrier on the
// communicator that it made. MPI 4.0.
//
// rollcall-test: ranks=3 outcome=hung mpi=mpich
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=MPI_Barrier seq=1
// expect+: certainty=proven
#include "tests/faults/fault.h"

#if MPI_VERSION >= 4
static int Agree(MPI_Comm comm, int value) {
  int sum = 0;
#ifdef FAULT
  if (value != 2)
#endif
    MPI_Barrier(comm);                                     // @waiting
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);  // @culprit
  return sum;
}

int main(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "library", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int sum = Agree(comm, rank);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return 0;
}
#else
int main(void) { return 0; }
#endif
