// MPI_Request_get_status reports a persistent collective as complete before its first start (MPI
// 4.1, 3.7.6; MPICH 4.0 does not). Its receive buffer holds no result then, but what each rank left
// there.
//
// rollcall-test: ranks=2 data=full
#include "tests/faults/data.h"

// Open MPI 4.1 has the persistent collectives of MPI 4.0 as an extension.
#if MPI_VERSION < 4
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int mine = 1;
  int sum = -WorldRank();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int start = 0; start < 3; ++start) {
    int complete = 0;
    MPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(sum == 2);
    sum = -WorldRank();
  }
  MPI_Request_free(&request);
  MPI_Finalize();
  return 0;
}
