// SPDX-License-Identifier: Apache-2.0
// Rank 0 alone calls MPI_Allreduce in quit(), under a condition; the others are in MPI_Finalize and
// did nothing wrong.
//
// report: deepmodeling/abacus-develop#2557
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=0
// says not: finalized early
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

static int my_rank, nranks;

static void reduce_double(double& x) {
  double all = 0;
  MPI_Allreduce(&x, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  x = all;
}

static void print_memory() {
  double mb = 12.5;
  reduce_double(mb);  // the report shows the total of all ranks
  std::printf("memory %g MB\n", mb);
}

static void quit(int code) {
#ifndef CONTROL
  if (my_rank == 0)
#endif
    print_memory();
  MPI_Finalize();
  std::exit(code);
}

static void init_wavefunctions(int nbands) {
  double e = nbands;
  reduce_double(e);
  if (nbands < nranks) {
    if (my_rank == 0) std::printf("nbands < ncpu\n");
    quit(0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  for (int step = 0; step < 3; ++step) init_wavefunctions(4 - step);
  MPI_Finalize();
}
