// Hundreds of communicators are made and freed, so that handles are used again at once; some ranks
// free later than others: correct.
//
// rollcall-test: ranks=2
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Comm late = MPI_COMM_NULL;
  int total = 0;
  for (int i = 0; i < 300; ++i) {
    MPI_Comm copy;
    if (i % 3 == 0) {
      MPI_Comm_split(MPI_COMM_WORLD, i % 2 == 0 ? rank : 0, 0, &copy);
    } else {
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    }
    int one = 1;
    int sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    total += sum;
    if (late != MPI_COMM_NULL) MPI_Comm_free(&late);
    if (rank == 1 && i % 7 == 0) {
      late = copy;
    } else {
      MPI_Comm_free(&copy);
    }
  }
  if (late != MPI_COMM_NULL) MPI_Comm_free(&late);
  Report("total", total);
  MPI_Finalize();
  return 0;
}
