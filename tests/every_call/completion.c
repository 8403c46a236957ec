// SPDX-License-Identifier: Apache-2.0
// Every way to start and to complete requests.
#include "tests/every_call/every_call.h"

enum { kRequests = 4 };

static MPI_Request requests[kRequests];
static int values[kRequests];
static int rank;

// A message each way for every second request. Synchronous: other small sends are complete from
// birth, share one handle, and nothing that finds them complete is recorded.
static void Exchange(void) {
  for (int i = 0; i < kRequests; ++i) {
    values[i] = 10 * rank + i;
    const int tag = i / 2;
    if (i % 2 == 0) {
      DO(MPI_Irecv, &values[i], 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[i]);
    } else {
      DO(MPI_Issend, &values[i], 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &requests[i]);
    }
  }
}

static void Seen(void) { Observe(values, sizeof(values)); }

int main(int argc, char** argv) {
  DO(MPI_Init, &argc, &argv);
  rank = WorldRank();
  int flag = 0;
  int index = 0;
  int count = 0;
  int indices[kRequests];
  MPI_Status statuses[kRequests];

  Exchange();
  for (int i = 0; i < kRequests; ++i) DO(MPI_Wait, &requests[i], &statuses[i]);
  Seen();
  Exchange();
  DO(MPI_Waitall, kRequests, requests, statuses);
  Seen();
  Exchange();
  for (int i = 0; i < kRequests; ++i) DO(MPI_Waitany, kRequests, requests, &index, &statuses[0]);
  Seen();
  Exchange();
  for (int done = 0; done < kRequests; done += count) {
    DO(MPI_Waitsome, kRequests, requests, &count, indices, statuses);
  }
  Seen();
  Exchange();
  for (int i = 0; i < kRequests; ++i) {
    POLL(flag, MPI_Request_get_status, requests[i], &flag, &statuses[i]);
    POLL(flag, MPI_Test, &requests[i], &flag, &statuses[i]);
  }
  Seen();
  Exchange();
  POLL(flag, MPI_Testall, kRequests, requests, &flag, statuses);
  Seen();
  Exchange();
  for (int i = 0; i < kRequests; ++i) {
    POLL(flag, MPI_Testany, kRequests, requests, &index, &flag, &statuses[0]);
  }
  Seen();
  Exchange();
  for (int done = 0; done < kRequests; done += count) {
    POLL(count, MPI_Testsome, kRequests, requests, &count, indices, statuses);
  }
  Seen();

  values[1] = rank;
  DO(MPI_Recv_init, &values[0], 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);
  DO(MPI_Send_init, &values[1], 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[1]);
  DO(MPI_Startall, 2, requests);
  DO(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  Seen();
  for (int i = 0; i < 2; ++i) {
    DO(MPI_Start, &requests[i]);
  }
  DO(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) DO(MPI_Request_free, &requests[i]);
  Seen();
  DO(MPI_Finalize);
  return Finish("rank", rank);
}
