// SPDX-License-Identifier: Apache-2.0
// Packets are sent with nonblocking sends, each of which is waited for before the receives are
// posted: small packets pass, large ones hang.
//
// report: https://github.com/rsmpi/rsmpi/issues/144
// schedules-test: ranks=3 finds=hang by=synchronous
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const int size = WorldSize();
  int packet[8] = {0};
  int received[8] = {0};
  MPI_Request requests[16];
  int count = 0;
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    MPI_Isend(packet, 8, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[count]);
#ifdef FAULT
    MPI_Wait(&requests[count], MPI_STATUS_IGNORE);
#endif
    ++count;
  }
  for (int i = 1; i < size; ++i) {
    MPI_Recv(received, 8, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  Report("packets", size - 1);
  MPI_Finalize();
  return 0;
}
