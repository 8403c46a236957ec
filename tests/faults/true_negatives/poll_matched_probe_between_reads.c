// Two ranks read their input from a pipe, record by record, and between two records look for the
// other's message with MPI_Improbe; each sends at the end of its input.
//
// rollcall-test: ranks=2
// expect: none
#include "tests/faults/quiet.h"

enum { kRecords = 4 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  const int other = 1 - WorldRank();
  int sum = 0;
  int got = -1;
  int records = 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Barrier(MPI_COMM_WORLD);
  while (records < kRecords || got < 0) {
    if (records < kRecords) {
      sum += ReadFeed(StartFeed(quiet / kRecords));
      if (++records == kRecords) MPI_Isend(&sum, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &sent);
    }
    MPI_Message message = MPI_MESSAGE_NULL;
    int there = 0;
    MPI_Improbe(other, 1, MPI_COMM_WORLD, &there, &message, MPI_STATUS_IGNORE);
    if (there) MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  Report("sum", sum + got);
  MPI_Finalize();
  return 0;
}
