// The lowest bit of one element of one rank's sum differs, as if that rank had added in another
// order: bit_flip_preload.c, behind rollcall's library in LD_PRELOAD, changes it.
//
// rollcall-test: ranks=4 data=full check= preload=bit_flip_preload
// expect: kind=last-bits-differ culprits=1 waiting=none op=MPI_Allreduce seq=3 certainty=likely lines=none
#include <stdint.h>
#include <string.h>

#include "tests/faults/data.h"

enum { kSteps = 5, kElements = 30000 };

static uint64_t BitsOf(const double* values) {
  uint64_t bits = 0;
  for (int i = 0; i < kElements; ++i) {
    uint64_t word;
    memcpy(&word, &values[i], sizeof(word));
    bits ^= word;
  }
  return bits;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  static double mine[kElements];
  static double sum[kElements];
  uint64_t bits[kSteps];
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kElements; ++i) mine[i] = Sample(step * 4 + rank, i);
    MPI_Allreduce(mine, sum, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bits[step] = BitsOf(sum);
  }
  uint64_t all[4 * kSteps];
  MPI_Gather(bits, kSteps, MPI_UINT64_T, all, kSteps, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  for (int step = 0; rank == 0 && step < kSteps; ++step) {
#ifdef FAULT
    REQUIRE((all[step] == all[kSteps + step]) == (step != 2));  // the library is preloaded
#else
    REQUIRE(all[step] == all[kSteps + step]);
#endif
  }
  Report("sum", sum[7]);
  MPI_Finalize();
  return 0;
}
