// SPDX-License-Identifier: Apache-2.0
/* Rank 0 skips a barrier. Before that, each rank writes its variables to the file truth.RANK in the
 * directory that it is started with, as FUNCTION NAME VALUE. C and C++. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum mode { FAST = 2, SLOW = 5 };

static FILE* truth;

#define WRITE(function, format, name) fprintf(truth, function " " #name " " format "\n", name)
#define WRITE_BOOL(function, name) \
  fprintf(truth, function " " #name " %s\n", name ? "true" : "false")
#define WRITE_POINTER(function, name) \
  fprintf(truth, function " " #name " %s\n", name ? "not null" : "null")

static double exchange(int step, double tolerance, const char* file, const long* limits) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double rounds = 0;
  for (int turn = 0; turn < 3 + (rank == 0); ++turn) rounds += 0.5;
  int last = 7;
  while (last > 3 + rank) last--;
  bool skip = rank == 0 && step == 2;
  enum mode mode = skip ? FAST : SLOW;
  unsigned char small = skip ? 200 : 100;
  float ratio = skip ? 0.5f : 0.25f;
  long long big = skip ? -5000000000LL : limits[0];
  size_t size = skip ? 11 : 22;
  double sum = 0;
  double mine = rank;
  if (step == 2) {
    WRITE("exchange", "%d", step);
    WRITE("exchange", "%.17g", tolerance);
    WRITE_POINTER("exchange", file);
    WRITE_POINTER("exchange", limits);
    WRITE("exchange", "%d", rank);
    WRITE("exchange", "%.17g", rounds);
    WRITE("exchange", "%d", last);
    WRITE_BOOL("exchange", skip);
    fprintf(truth, "exchange mode %s\n", mode == FAST ? "FAST" : "SLOW");
    WRITE("exchange", "%d", small);
    WRITE("exchange", "%.17g", ratio);
    WRITE("exchange", "%lld", big);
    WRITE("exchange", "%zu", size);
    WRITE("exchange", "%.17g", sum);
    WRITE("exchange", "%.17g", mine);
    fflush(truth);
  }
  if (!skip) {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double later = sum * tolerance + ratio + small + mode + (double)big + (double)size;
  return file == NULL ? later : later + rounds + last;
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
  const long limits[1] = {5000000000L};
  const char* file = rank == 0 ? NULL : argv[1];
  double tolerance = rank == 0 ? 1e-6 : 1e-3;
  WRITE("main", "%d", argc);
  WRITE_POINTER("main", argv);
  WRITE("main", "%d", rank);
  WRITE_POINTER("main", file);
  WRITE("main", "%.17g", tolerance);
  double total = 0;
  for (int step = 0; step < 5; ++step) {
    if (step == 2) {
      WRITE("main", "%d", step);
      WRITE("main", "%.17g", total);
    }
    total += exchange(step, tolerance, file, limits);
  }
  printf("%g %d\n", total, argc);
  MPI_Finalize();
  return 0;
}
