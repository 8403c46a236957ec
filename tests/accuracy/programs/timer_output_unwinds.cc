// SPDX-License-Identifier: Apache-2.0
// Rank 1 throws in the solver. On its way out, the destructor of the timer gathers statistics of
// all ranks, while the others are in the solver's MPI_Allreduce.
//
// report: dealii/dealii#5557, geodynamics/aspect#2018
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch|uncaught-exception culprits=1
// says: TimerOutput
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>

static int rank;

class TimerOutput {
 public:
  TimerOutput() : start_(MPI_Wtime()) {}
  ~TimerOutput() { print(); }

 private:
  void print() const {
    double mine = MPI_Wtime() - start_, most = 0;
    MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Bcast(&most, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("wall time %s\n", most < 60 ? "short" : "long");
  }
  double start_;
};

static double residual(int iteration) {
  double mine = 1.0 / (iteration + 1), all = 0;
#ifndef CONTROL
  if (iteration == 7 && rank == 1) throw std::runtime_error("negative pressure in cell 4711");
#endif
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void run_simulation() {
  TimerOutput timer;
  double r = 1;
  for (int it = 0; it < 20 && r > 1e-8; ++it) r = residual(it);
  if (rank == 0) std::printf("residual %g\n", r);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    run_simulation();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "exception on rank %d: %s\n", rank, e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
