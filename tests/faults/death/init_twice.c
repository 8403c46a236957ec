// Two libraries of the program initialise MPI, and the second one ignores that it was done. Rank 1
// needs it: MPI ends the rank inside its second MPI_Init.
//
// rollcall-test: ranks=3 outcome=failed
// expect: kind=rank-died culprits=1 waiting=any op=any seq=any certainty=proven lines=culprit
// expect+[mpich]: certainty=proven,likely
#include "tests/faults/fault.h"

static void StartLibrary(void) {
  int initialised = 0;
  MPI_Initialized(&initialised);
#ifdef FAULT
  initialised = 0;
#endif
  if (!initialised) MPI_Init(NULL, NULL);  // @culprit
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  ArriveBefore(1);
  if (rank == 1) StartLibrary();
  int value = rank;
  MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
  Report("value", value);
  MPI_Finalize();
  return 0;
}
