// One bit of one rank's result is flipped, as memory without error correction does: by
// bit_flip_preload.c, which is behind rollcall's library in LD_PRELOAD. The third call of the
// function has the wrong result on rank 1.
//
// rollcall-test: name=integers ranks=4 data=full check= preload=bit_flip_preload
// arguments: integers
// expect: kind=result-differs culprits=1 waiting=none op=MPI_Allreduce seq=3 certainty=proven
// expect+: lines=none function@culprit=SumIntegers
// rollcall-test: name=doubles ranks=4 data=full check= preload=bit_flip_preload
// arguments: doubles
// expect: kind=result-differs culprits=1 waiting=none op=MPI_Allreduce seq=3 certainty=likely
// expect+: lines=none function@culprit=SumDoubles
// rollcall-test: name=broadcast ranks=4 data=full check= preload=bit_flip_preload
// arguments: broadcast
// expect: kind=result-differs culprits=1 waiting=none op=MPI_Bcast seq=3 certainty=proven
// expect+: lines=none function@culprit=Broadcast
#include "tests/faults/data.h"

enum { kSteps = 5, kElements = 20000 };

// The number of elements of all steps that have the wrong value.
typedef int WrongElements(int rank);

__attribute__((noinline)) static int SumIntegers(int rank) {
  static int mine[kElements];
  static int sum[kElements];
  int wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) mine[i] = step + i * rank;
    MPI_Allreduce(mine, sum, kElements, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kElements; ++i) wrong += sum[i] != 4 * step + 6 * i;
  }
  return wrong;
}

__attribute__((noinline)) static int SumDoubles(int rank) {
  static double mine[kElements];
  static double sum[kElements];
  int wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) mine[i] = Sample(step * 4 + rank, i);
    MPI_Allreduce(mine, sum, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kElements; ++i) {
      double expected = 0;
      for (int member = 0; member < 4; ++member) expected += Sample(step * 4 + member, i);
      wrong += fabs(sum[i] - expected) > 1e-12;
    }
  }
  return wrong;
}

__attribute__((noinline)) static int Broadcast(int rank) {
  static double field[kElements];
  int wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) field[i] = rank == 0 ? Sample(step, i) : 0;
    MPI_Bcast(field, kElements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < kElements; ++i) wrong += field[i] != Sample(step, i);
  }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  const char* what = argc > 1 ? argv[1] : "integers";
  WrongElements* run = strcmp(what, "doubles") == 0     ? SumDoubles
                       : strcmp(what, "broadcast") == 0 ? Broadcast
                                                        : SumIntegers;
  const int wrong = run(rank);
#ifdef FAULT
  REQUIRE(wrong == (rank == 1));  // the library is preloaded
#else
  REQUIRE(wrong == 0);
#endif
  Report("wrong", wrong);
  MPI_Finalize();
  return 0;
}
