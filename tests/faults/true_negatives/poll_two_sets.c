// Two sets of receives are tested in turn, without a pause, by ranks that wait for the one that
// computes; its message for one set comes long before that for the other.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/quiet.h"

enum { kData = 1, kControl = 2, kEach = 2 };

static int PollBoth(int source) {
  int values[2][kEach] = {{0, 0}, {0, 0}};
  MPI_Request sets[2][kEach];
  for (int i = 0; i < kEach; ++i) {
    MPI_Irecv(&values[0][i], 1, MPI_INT, source, kData, MPI_COMM_WORLD, &sets[0][i]);
    MPI_Irecv(&values[1][i], 1, MPI_INT, source, kControl, MPI_COMM_WORLD, &sets[1][i]);
  }
  int data = 0;
  int control = 0;
  while (data < kEach || !control) {
    int index = MPI_UNDEFINED;
    int done = 0;
    if (data < kEach) MPI_Testany(kEach, sets[0], &index, &done, MPI_STATUS_IGNORE);
    data += done && index != MPI_UNDEFINED;
    if (!control) MPI_Testall(kEach, sets[1], &control, MPI_STATUSES_IGNORE);
  }
  return values[0][0] + values[0][1] + values[1][0] + values[1][1];
}

static void Feed(double quiet) {
  for (int round = 0; round < kEach; ++round) {
    for (int tag = kData; tag <= kControl; ++tag) {
      Compute(quiet / (2 * kEach));
      for (int rank = 1; rank < WorldSize(); ++rank) {
        MPI_Send(&tag, 1, MPI_INT, rank, tag, MPI_COMM_WORLD);
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double quiet = QuietSeconds(argc, argv);
  int mine = 0;
  int sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (WorldRank() == 0) {
    Feed(quiet);
  } else {
    mine = PollBoth(0);
  }
  MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  Report("sum", sum);
  MPI_Finalize();
  return 0;
}
