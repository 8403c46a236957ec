// A persistent reduction is started six times. The third time, one element of rank 1 is a NaN.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=non-finite-input culprits=1 waiting=none op=MPI_Allreduce_init seq=any
// expect+: certainty=proven lines=none
#include "tests/faults/data.h"

// Open MPI 4.1 has the persistent collectives of MPI 4.0 as an extension.
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { kSteps = 6, kElements = 1000, kBad = 500 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  static double mine[kElements];
  static double sum[kElements];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Allreduce_init(mine, sum, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &request);
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) mine[i] = Sample(step * 4 + rank, i);
#ifdef FAULT
    if (rank == 1 && step == 2) mine[kBad] = NAN;
#endif
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef FAULT
    REQUIRE(!isnan(sum[kBad]) == (step != 2));
#else
    REQUIRE(isfinite(sum[kBad]));
#endif
  }
  MPI_Request_free(&request);
  Report("sum", sum[kBad]);
  MPI_Finalize();
  return 0;
}
