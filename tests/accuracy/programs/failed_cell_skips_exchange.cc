// SPDX-License-Identifier: Apache-2.0
// An exception in one step of rank 2 is caught in the time loop, which continues with the next
// step: rank 2 has skipped an exchange, and is one round ahead of its neighbours.
//
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|p2p-unmatched culprits=2
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static int rank, size;

static void check(double value, int step) {
#ifndef CONTROL
  if (rank == 2 && step == 5) throw std::domain_error("density below zero");
#endif
  if (value < 0 || step < 0) throw std::domain_error("unreachable");
}

static void exchange(std::vector<double>& u, int step) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, left, step, &u.back(), 1, MPI_DOUBLE, right, step,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&u[u.size() - 2], 1, MPI_DOUBLE, right, step, &u[0], 1, MPI_DOUBLE, left, step,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void advance(std::vector<double>& u, int step) {
  for (size_t i = 1; i + 1 < u.size(); ++i) {
    check(u[i], step);
    u[i] *= 0.9;
  }
  exchange(u, step);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<double> u(12, 1.0 + rank);
  int failed = 0;
  for (int step = 0; step < 20; ++step) {
    try {
      advance(u, step);
    } catch (const std::domain_error& e) {
      ++failed;  // the next step is smaller
      continue;
    }
  }
  int all = 0;
  MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d failed\n", all);
  MPI_Finalize();
}
