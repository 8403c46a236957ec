// Requests that are never started fill the shim's table, so it does not see when an MPI_Iallreduce
// is complete, and does not read its result. Rank 1 passes a NaN later, but the unread result may
// have had one.
//
// rollcall-test: ranks=2 data=full check=
// expect: kind=non-finite-input culprits=1 waiting=none op=MPI_Allreduce seq=2 certainty=likely
#include "tests/faults/data.h"

enum { kRequests = 9000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  static MPI_Request requests[kRequests];
  static int unused;
  for (int i = 0; i < kRequests; ++i) {
    MPI_Recv_init(&unused, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  double mine = Sample(rank, 0);
  double sum = 0;
  MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE(isfinite(sum));
#ifdef FAULT
  if (rank == 1) mine = NAN;
#endif
  double loss = 0;
  MPI_Allreduce(&mine, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @culprit
  for (int i = 0; i < kRequests; ++i) MPI_Request_free(&requests[i]);
  Report("loss", loss);
  MPI_Finalize();
  return 0;
}
