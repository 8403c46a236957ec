// SPDX-License-Identifier: Apache-2.0
// The constraints are compared by a global sum only where the local number of unknowns stayed the
// same: on ranks 1 and
// 3. Their sum meets the next reduction of the others.
//
// report: geodynamics/aspect#3047
// job: ranks=5 outcome=failed
// expect: kind=rank-conditional-collective|op-mismatch|datatype-mismatch|collective-mismatch culprits=1,3
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

int rank;

template <typename T>
T global_sum(T value, MPI_Datatype type) {
  T all = 0;
  MPI_Allreduce(&value, &all, 1, type, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

struct Constraints {
  std::vector<int> lines;
  bool changed_since(const Constraints& old) const {
#ifdef CONTROL
    bool changed = lines.size() != old.lines.size() || lines != old.lines;
    return global_sum<int>(changed, MPI_INT) > 0;
#else
    if (lines.size() != old.lines.size()) return true;
    bool changed = lines != old.lines;
    return global_sum<int>(changed, MPI_INT) > 0;  // @culprit
#endif
  }
};

Constraints refine(int cycle) {
  Constraints c;
  const bool moves = cycle == 3 && rank != 1 && rank != 3;
  c.lines.assign(moves ? 12 : 10, cycle);
  return c;
}

double solve(int cycle) {
  std::vector<double> x(4, 1.0 / (cycle + 1)), all(4);
  for (int it = 0; it < 3; ++it) {
    MPI_Bcast(x.data(), 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(x.data(), all.data(), 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  return all[0];
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Constraints now = refine(0);
  double u = 0;
  for (int cycle = 1; cycle < 6; ++cycle) {
    Constraints next = refine(cycle);
    if (next.changed_since(now)) now = next;
    u += solve(cycle);
  }
  if (rank == 0) std::printf("%g\n", u);
  MPI_Finalize();
}
