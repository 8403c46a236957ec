// SPDX-License-Identifier: Apache-2.0
// Rank 2 alone divides by zero and calls Error::all(), which is collective. The others wait in
// MPI_Allreduce.
//
// report: lammps/lammps#1283
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=2
// says: Error::all
// says not: call MPI_Barrier on every rank
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

struct Error {
  MPI_Comm world;
  // must be called by all procs in world
  [[noreturn]] void all(const char* file, int line, const char* what) {
    int me;
    MPI_Comm_rank(world, &me);
    MPI_Barrier(world);  // @culprit
    if (me == 0) std::fprintf(stderr, "ERROR: %s (%s:%d)\n", what, file, line);
    MPI_Finalize();
    std::exit(1);
  }
};

struct Variable {
  Error& error;
  double evaluate(double x, double y) {
    if (y == 0.0) {
      // atom-style variable: y belongs to one atom
      error.all(__FILE__, __LINE__, "Divide by 0 in variable formula");
    }
    return x / y;
  }
};

static double compute_scalar(Variable& v, const std::vector<double>& y) {
  double mine = 0, all = 0;
  for (double d : y) mine += v.evaluate(1.0, d);
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, v.error.world);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  Error error{MPI_COMM_WORLD};
  Variable v{error};
  std::vector<double> y(100, 1.0 + me);
  double s = 0;
  for (int step = 0; step < 50; ++step) {
#ifndef CONTROL
    if (step == 37 && me == 2) y[12] = 0;  // an atom comes to rest
#endif
    s = compute_scalar(v, y);
    if (step % 10 == 0) {
      MPI_Barrier(error.world);
      if (me == 0) std::printf("%d %g\n", step, s);
    }
  }
  MPI_Finalize();
}
