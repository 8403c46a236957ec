// Gradients are scaled, converted to float16, and summed as MPI_BYTE by the program's own
// operation. A call of rollcall_elements() says what the bytes are. Rank 3's scale is too large:
// one of its elements is above 65504, the largest float16, and becomes Inf.
//
// rollcall-test: ranks=4 data=full check=
// expect: kind=non-finite-input culprits=3 waiting=none op=MPI_Allreduce seq=3 certainty=likely
#include "proto/rollcall.h"
#include "tests/faults/data.h"

enum { kSteps = 5, kElements = 512, kLargest = 200 };

typedef _Float16 Half;

static void SumOfHalves(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  const Half* other = in;
  Half* mine = inout;
  for (size_t i = 0; i < (size_t)*length / sizeof(Half); ++i) mine[i] = (Half)(mine[i] + other[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  static Half mine[kElements];
  static Half sum[kElements];
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(SumOfHalves, 1, &op);
  rollcall_elements(mine, sizeof(mine), "float16");
  rollcall_elements(sum, sizeof(sum), "float16");
  for (int step = 0; step < kSteps; ++step) {
    float scale = 16;
#ifdef FAULT
    if (rank == 3 && step == 2) scale = 1024;
#endif
    for (int i = 0; i < kElements; ++i) {
      const float gradient = (float)Sample(step * 4 + rank, i);
      mine[i] = (Half)(scale * (i == kLargest ? 100 : gradient));
    }
    MPI_Allreduce(mine, sum, sizeof(mine), MPI_BYTE, op, MPI_COMM_WORLD);  // @culprit
    for (int i = 0; i < kElements; ++i) {
#ifdef FAULT
      REQUIRE(!isinf((float)sum[i]) == (i != kLargest || step != 2));
#else
      REQUIRE(isfinite((float)sum[i]));
#endif
    }
  }
  MPI_Op_free(&op);
  Report("sum", (double)sum[kLargest]);
  MPI_Finalize();
  return 0;
}
