// Rank 1 sends its field and forgets the request.
//
// rollcall-test: ranks=3 outcome=finished mpi=openmpi check=--fail-on=errors
// expect: kind=request-leak culprits=1 waiting=any op=MPI_Isend seq=any certainty=proven
// expect+: lines=culprit
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  enum { kCount = 4096 };
  double* field = Buffer(kCount, sizeof(double));
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) {
    MPI_Isend(field, kCount, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &request);  // @culprit
  }
  if (rank == 0) {
    MPI_Recv(field, kCount, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
#ifdef FAULT
  (void)request;
#else
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
  Report("field", field[0]);
  MPI_Finalize();
  free(field);
  return 0;
}
