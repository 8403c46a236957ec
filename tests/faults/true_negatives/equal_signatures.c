// One rank describes the same data by another type: four ints, one contiguous type of four, two of
// a struct of two; MPI_LONG against MPI_INT64_T is the same signature on this machine: correct.
//
// rollcall-test: ranks=4
// expect: none
#include <stdint.h>

#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Datatype four;
  MPI_Datatype spread;
  MPI_Type_contiguous(4, MPI_INT, &four);
  MPI_Type_commit(&four);
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  int data[8] = {0};
  if (rank == 0) {
    for (int i = 0; i < 8; ++i) data[i] = i + 1;
  }
  if (rank == 0) {
    MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Bcast(data, 1, four, 0, MPI_COMM_WORLD);
  } else {
    MPI_Bcast(data, 2, spread, 0, MPI_COMM_WORLD);
  }
  int all[16] = {0};
  if (rank % 2 == 0) {
    MPI_Allgather(data, 4, MPI_INT, all, 1, four, MPI_COMM_WORLD);
  } else {
    MPI_Allgather(data, 1, four, all, 4, MPI_INT, MPI_COMM_WORLD);
  }
  int64_t wide = rank;
  MPI_Bcast(&wide, 1, rank == 0 ? MPI_LONG : MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Type_free(&four);
  MPI_Type_free(&spread);
  Report("sum", all[0] + all[1] + (double)wide);
  MPI_Finalize();
  return 0;
}
