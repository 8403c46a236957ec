// Rank 0 reads its next batch from a pipe that nobody writes; the others wait for the broadcast.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=0 waiting=1,2 op=MPI_Bcast seq=2 certainty=likely
// expect+: analyze-certainty=likely,suspected
#include "tests/faults/fault.h"

__attribute__((noinline)) static int ReadBatch(int fd) {
  char byte = 0;
  const long got = read(fd, &byte, 1);  // @culprit
  return got == 1 ? byte : -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ends[2];
  if (pipe(ends) != 0) return 9;
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef FAULT
  const int feed = WorldRank() != 0;
#else
  const int feed = 1;
#endif
  if (feed && write(ends[1], "A", 1) != 1) return 9;
  int batch = ReadBatch(ends[0]);
  MPI_Bcast(&batch, 1, MPI_INT, 0, MPI_COMM_WORLD);  // @waiting
  Report("batch", batch);
  MPI_Finalize();
  return 0;
}
