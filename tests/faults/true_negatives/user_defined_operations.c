// Reduction operators and datatypes made by the user, in another order on each rank, so that
// neither handles nor function addresses agree between ranks: correct.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/fault.h"

static void Largest(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 2 * *length; ++i) {
    const double other = ((double*)in)[i];
    double* mine = &((double*)inout)[i];
    if (other > *mine) *mine = other;
  }
}

static void Ignore(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)in;
  (void)inout;
  (void)length;
  (void)type;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  MPI_Op spare[8];
  MPI_Datatype unused[8];
  for (int i = 0; i < rank; ++i) {
    MPI_Op_create(Ignore, 1, &spare[i]);
    MPI_Type_contiguous(3 + i, MPI_INT, &unused[i]);
  }
  MPI_Op largest;
  MPI_Datatype pair;
  MPI_Op_create(Largest, 1, &largest);
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  const double mine[2] = {rank, -rank};
  double all[2] = {0, 0};
  for (int i = 0; i < 4; ++i) {
    MPI_Allreduce(mine, all, 1, pair, largest, MPI_COMM_WORLD);
  }
  MPI_Op_free(&largest);
  MPI_Type_free(&pair);
  for (int i = 0; i < rank; ++i) {
    MPI_Op_free(&spare[i]);
    MPI_Type_free(&unused[i]);
  }
  Report("largest", all[0] + all[1]);
  MPI_Finalize();
  return 0;
}
