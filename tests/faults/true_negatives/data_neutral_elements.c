// Numbers that are not finite, on purpose: Inf as the neutral element of a minimum, NaN that marks
// missing values and padding in data that is not reduced, noise between the members of
// MPI_DOUBLE_INT, and -0.0 beside 0.0. Correct.
//
// rollcall-test: ranks=4 data=full
// expect: none
#include "tests/faults/data.h"

enum { kElements = 256 };

// Ranks without a value of their own contribute the neutral element.
static void Extremes(int rank) {
  double nearest[kElements];
  double farthest[kElements];
  double result[kElements];
  for (int i = 0; i < kElements; ++i) {
    nearest[i] = i % 4 == rank ? i : INFINITY;
    farthest[i] = i % 4 == rank ? i : -INFINITY;
  }
  MPI_Allreduce(nearest, result, kElements, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < kElements; ++i) REQUIRE(result[i] == i);
  MPI_Allreduce(farthest, result, kElements, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < kElements; ++i) REQUIRE(result[i] == i);
  MPI_Reduce(nearest, rank == 1 ? result : NULL, kElements, MPI_DOUBLE, MPI_MIN, 1, MPI_COMM_WORLD);
  float limit = rank == 2 ? 3 : INFINITY;
  MPI_Scan(MPI_IN_PLACE, &limit, 1, MPI_FLOAT, MPI_MIN, MPI_COMM_WORLD);
  REQUIRE(rank < 2 ? isinf(limit) : limit == 3);
}

// The place of the smallest value, of which the neutral element is Inf without a place. The four
// bytes behind the index are noise.
static void PlaceOfSmallest(int rank) {
  struct Place {
    double value;
    int index;
  } mine[8], result[8];
  FillWithNans(mine, sizeof(mine), rank);
  FillWithNans(result, sizeof(result), 10 + rank);
  for (int i = 0; i < 8; ++i) {
    mine[i].value = rank == i % 4 ? 10 - i : INFINITY;
    mine[i].index = rank == i % 4 ? i : -1;
  }
  MPI_Allreduce(mine, result, 8, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  for (int i = 0; i < 8; ++i) REQUIRE(result[i].value == 10 - i && result[i].index == i);
}

// NaN marks what is missing, or was never set.
static void Missing(int rank) {
  double field[kElements];
  double all[4 * 8];
  double own[8];
  FillWithNans(field, sizeof(field), rank);
  if (rank == 2) field[17] = 4;
  MPI_Bcast(field, kElements, MPI_DOUBLE, 2, MPI_COMM_WORLD);
  REQUIRE(field[17] == 4 && AreNansOf(field, 18, kElements - 18, 2));
  FillWithNans(own, sizeof(own), rank);
  own[0] = rank;
  MPI_Gather(own, 8, MPI_DOUBLE, all, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < 4; ++i) REQUIRE(all[8 * i] == i && isnan(all[8 * i + 1]));
  MPI_Allgather(own, 8, MPI_DOUBLE, all, 8, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) REQUIRE(all[8 * i] == i && isnan(all[8 * i + 7]));
  MPI_Alltoall(all, 8, MPI_DOUBLE, field, 8, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) REQUIRE(field[8 * i] == rank && isnan(field[8 * i + 1]));
  MPI_Sendrecv_replace(own, 8, MPI_DOUBLE, rank ^ 1, 0, rank ^ 1, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  REQUIRE(own[0] == (rank ^ 1) && isnan(own[1]));
}

// -0.0 and 0.0 are equal, and which of them is the minimum depends on the order, which may be
// another on each rank.
static void SignsOfZero(int rank) {
  double mine[kElements];
  double result[kElements];
  for (int i = 0; i < kElements; ++i) mine[i] = (i + rank) % 3 == 0 ? -0.0 : 0.0;
  MPI_Allreduce(mine, result, kElements, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < kElements; ++i) REQUIRE(result[i] == 0);
  MPI_Allreduce(mine, result, kElements, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < kElements; ++i) REQUIRE(result[i] == 0);
  MPI_Allreduce(mine, result, kElements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kElements; ++i) REQUIRE(result[i] == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  Extremes(rank);
  PlaceOfSmallest(rank);
  Missing(rank);
  SignsOfZero(rank);
  MPI_Finalize();
  return 0;
}
