// The ranks exchange floats, and rank 1 receives them as ints: MPI does not detect it.
//
// rollcall-test: ranks=2 outcome=finished
// expect: kind=datatype-mismatch culprits=0,1 waiting=none op=MPI_Irecv seq=any certainty=proven
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
#ifdef FAULT
  const MPI_Datatype type = rank == 0 ? MPI_FLOAT : MPI_INT;
#else
  const MPI_Datatype type = MPI_FLOAT;
#endif
  float sent[4] = {1, 2, 3, 4};
  float got[4] = {0, 0, 0, 0};
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Irecv(got, 4, type, 1 - rank, 1, MPI_COMM_WORLD, &request);  // @culprit
  MPI_Send(sent, 4, MPI_FLOAT, 1 - rank, 1, MPI_COMM_WORLD);       // @culprit
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("got", got[3]);
  MPI_Finalize();
  return 0;
}
