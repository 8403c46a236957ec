// Rank 0 cancels a synchronous send that nobody receives. The wait for it is local then (MPI 4.0,
// 3.8.4), but Open MPI, which cannot cancel sends, does not return from it. The healthy version
// cancels a receive.
//
// rollcall-test: ranks=2 outcome=hung mpi=openmpi stall-after=2
// expect: kind=transport-stalled culprits=none waiting=0 op=MPI_Wait seq=any certainty=likely
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = 5;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    MPI_Request request;
#ifdef FAULT
    MPI_Issend(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
#else
    MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
#endif
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);  // @waiting
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
