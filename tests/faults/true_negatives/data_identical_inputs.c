// All ranks pass the same data to reductions, as they should: to check that they agree, in
// constants, unchanged from call to call, in few elements, and a few times only. Correct.
//
// rollcall-test: ranks=2 data=full check=
// expect: none
#include "tests/faults/data.h"

enum { kCalls = 10, kElements = 256 };

static double g_mine[kElements];
static double g_result[kElements];

// Each rank has computed the same parameters, and looks whether the others have, too.
static void CheckAgreement(void) {
  double largest[kElements];
  for (int call = 0; call < kCalls; ++call) {
    for (int i = 0; i < kElements; ++i) g_mine[i] = Sample(call, i);
    MPI_Allreduce(g_mine, largest, kElements, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(g_mine, g_result, kElements, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    REQUIRE(memcmp(largest, g_mine, sizeof(g_mine)) == 0);
    REQUIRE(memcmp(g_result, g_mine, sizeof(g_mine)) == 0);
  }
}

static void Add(int elements) {
  MPI_Allreduce(g_mine, g_result, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < elements; ++i) REQUIRE(g_result[i] == 2 * g_mine[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CheckAgreement();
  // Counts: all elements are equal.
  for (int call = 0; call < kCalls; ++call) {
    for (int i = 0; i < kElements; ++i) g_mine[i] = call + 1;
    Add(kElements);
  }
  // Masks: two distinct values.
  for (int call = 0; call < kCalls; ++call) {
    for (int i = 0; i < kElements; ++i) g_mine[i] = (i + call) % 3 == 0;
    Add(kElements);
  }
  // Benchmarks reduce the same buffer again and again.
  for (int i = 0; i < kElements; ++i) g_mine[i] = Sample(0, i);
  for (int call = 0; call < kCalls; ++call) Add(kElements);
  // Few elements: a time step and its bounds.
  for (int call = 0; call < kCalls; ++call) {
    for (int i = 0; i < 16; ++i) g_mine[i] = Sample(call, i);
    Add(16);
  }
  // Initial values, which are the same in the first calls only.
  const int rank = WorldRank();
  for (int call = 0; call < kCalls; ++call) {
    for (int i = 0; i < kElements; ++i) g_mine[i] = Sample(call < 3 ? call : call + 100 * rank, i);
    MPI_Allreduce(g_mine, g_result, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
