// A persistent reduction of the residual is started in every step; in the last one, rank 2 has
// converged and does not start it. Its wait returns at once, since the request is inactive.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=MPI_Allreduce_init seq=2
// expect+: certainty=proven
#include "tests/faults/fault.h"

// Open MPI 4.1 has the persistent collectives of MPI 4.0 as an extension.
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { kSteps = 3 };

static double Iterate(int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  double mine = rank;
  double sum = 0;
  MPI_Allreduce_init(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int step = 0; step < kSteps; ++step) {
#ifdef FAULT
    if (rank != 2 || step < kSteps - 1)
#endif
      MPI_Start(&request);  // @waiting
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    mine = sum / WorldSize();
  }
  MPI_Request_free(&request);
  MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  Report("sum", Iterate(WorldRank()));
  MPI_Finalize();
  return 0;
}
