// Rank 0 starts its reduction on another communicator than the others: each waits in MPI_Wait for
// the other side's.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=0 waiting=1,2 op=MPI_Iallreduce seq=1
// expect+: comm!=MPI_COMM_WORLD certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm planes[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &planes[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &planes[1]);
#ifdef FAULT
  const int first = rank == 0;
#else
  const int first = rank < 0;
#endif
  double one = 1, sum = 0;
  for (int i = 0; i < 2; ++i) {
    const MPI_Comm comm = planes[i ^ first];
    MPI_Request request;
    MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);  // @culprit @waiting
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  Report("sum", sum);
  MPI_Comm_free(&planes[0]);
  MPI_Comm_free(&planes[1]);
  MPI_Finalize();
  return 0;
}
