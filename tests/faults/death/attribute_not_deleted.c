// The delete function of an attribute of rank 1 fails in MPI_Finalize: MPICH ends the job. Open MPI
// ignores it.
//
// rollcall-test: ranks=3 outcome=failed mpi=mpich
// expect: kind=rank-died culprits=1 waiting=any op=any seq=any certainty=likely lines=culprit
#include "tests/faults/fault.h"

static int Delete(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value;
#ifdef FAULT
  if (*(int*)state == 1) return MPI_ERR_OTHER;
#else
  (void)state;
#endif
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static int rank;
  rank = WorldRank();
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, Delete, &key, &rank);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("rank", rank);
  MPI_Finalize();  // @culprit
  return 0;
}
