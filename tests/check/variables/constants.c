// SPDX-License-Identifier: Apache-2.0
/* Rank 0 skips a barrier, in a loop whose variables the compiler may replace by constants. As in
 * branch.c, each rank writes what the variables are. C and C++. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE* truth;

#define WRITE(function, name) fprintf(truth, function " " #name " %d\n", name)

enum { kRounds = 6, kLast = 3 };

/* Its argument is a constant of each call. */
static int synchronize(int rank, int round, int skips) {
  int total = 0;
  const int now = round == kLast;
  int both = now && skips;
  if (round == kLast) {
    WRITE("synchronize", rank);
    WRITE("synchronize", total);
    WRITE("synchronize", round);
    WRITE("synchronize", skips);
    WRITE("synchronize", now);
    WRITE("synchronize", both);
    fflush(truth);
  }
  if (!both) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

static int exchange(int rank) {
  int elapsed = 0;
  int found = 0;
  int never = 0;
  int total = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int first = round == 0;
    const int owner = rank == 0;
    int skip = owner && round == kLast;
    int twice = 0;
    if (owner && round == kLast) twice = 2;
    int sometimes;
    if (round == kLast) sometimes = 5;
    if (round == kLast) {
      WRITE("exchange", rank);
      WRITE("exchange", elapsed);
      WRITE("exchange", found);
      WRITE("exchange", never);
      WRITE("exchange", round);
      WRITE("exchange", total);
      WRITE("exchange", first);
      WRITE("exchange", owner);
      WRITE("exchange", skip);
      WRITE("exchange", twice);
      WRITE("exchange", sometimes);
      fflush(truth);
    }
    if (first && elapsed > 100) continue;
    if (never || (twice && elapsed > 1000)) break;
    if (round == kLast && sometimes == 6) break;
    if (!skip) {
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    found = owner ? round : -round;
    elapsed += 1;
  }
  return total + elapsed + found;
}

int main(int argc, char** argv) {
  alarm(120);
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof(path), "%s/truth.%d", argv[1], rank);
  truth = fopen(path, "w");
  if (truth == NULL) return 1;
  WRITE("main", argc);
  WRITE("main", rank);
  int total = 0;
  if (argc > 2) {
    for (int round = 0; round < kRounds; ++round) {
      if (round == kLast) WRITE("main", round);
      if (round == kLast) WRITE("main", total);
      total += rank == 0 ? synchronize(rank, round, 1) : synchronize(rank, round, 0);
    }
  } else {
    total = exchange(rank);
  }
  printf("%d\n", total);
  MPI_Finalize();
  return 0;
}
