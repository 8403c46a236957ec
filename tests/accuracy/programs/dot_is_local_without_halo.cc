// SPDX-License-Identifier: Apache-2.0
// A dot product is reduced only if the vector has halo elements. Rank 1 has none, and is in the
// exchange of the next step.
//
// report: su2code/SU2#1241
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=1
#include <mpi.h>

#include <cstdio>
#include <vector>

static int rank;

struct Vector {
  size_t domain, all;
  std::vector<double> values;
  Vector(size_t n, size_t halo) : domain(n), all(n + halo), values(n + halo, 1.0) {}
  double dot(const Vector& other) const {
    double mine = 0, sum = 0;
    for (size_t i = 0; i < domain; ++i) mine += values[i] * other.values[i];
#ifndef CONTROL
    if (all == domain) return mine;  // a vector of one rank only
#endif
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  }
};

static double solve(Vector& x, Vector& b) {
  double r = 0;
  for (int it = 0; it < 3; ++it) {
    r = x.dot(b);
    for (double& v : x.values) v *= 0.5;
    MPI_Bcast(&r, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  return r;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double sum = 0;
  for (int level = 0; level < 3; ++level) {
    const size_t halo = level == 2 && rank == 1 ? 0 : 4;
    Vector x(20, halo), b(20, halo);
    sum += solve(x, b);
  }
  if (rank == 0) std::printf("%g\n", sum);
  MPI_Finalize();
}
