// Rank 0 sends four partitions, marks three of them ready and waits for the send: off by one.
// Partitioned messages are MPI 4.0's, which Open MPI has from 5.0 on.
//
// rollcall-test: ranks=3 outcome=hung mpi=mpich
// expect: kind=p2p-unmatched culprits=0 waiting=1,2 op=MPI_Psend_init seq=any certainty=proven
#include "tests/faults/fault.h"

enum { kPartitions = 4, kRounds = 3 };

#if MPI_VERSION >= 4
static void SendRow(MPI_Request* request, int ready) {
  MPI_Start(request);  // @culprit
  for (int partition = 0; partition < ready; ++partition) {
    MPI_Pready(partition, *request);
  }
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void ReceiveRow(MPI_Request* request) {
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);  // @waiting
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double row[kPartitions * 8] = {1};
#if MPI_VERSION >= 4
  const int rank = WorldRank();
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    MPI_Psend_init(row, kPartitions, 8, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  } else if (rank == 1) {
    MPI_Precv_init(row, 1, kPartitions * 8, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
  }
  for (int round = 0; round < kRounds; ++round) {
    int ready = kPartitions;
#ifdef FAULT
    if (round == 2) --ready;
#endif
    if (rank == 0) SendRow(&request, ready);
    if (rank == 1) ReceiveRow(&request);
    MPI_Barrier(MPI_COMM_WORLD);  // @waiting
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
#endif
  Report("first", row[0]);
  MPI_Finalize();
  return 0;
}
