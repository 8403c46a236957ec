// SPDX-License-Identifier: Apache-2.0
// Rank 0 breaks out of the iteration when its own part has converged, past the reduction at the end
// of the body. Its neighbour waits for its next boundary values.
//
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations|rank-conditional-collective culprits=0
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <vector>

static int rank, size;

class Boundary {
 public:
  Boundary()
      : up_(rank + 1 < size ? rank + 1 : MPI_PROC_NULL),
        down_(rank > 0 ? rank - 1 : MPI_PROC_NULL) {}
  void exchange(std::vector<double>& u) const {
    const size_t n = u.size();
    if (rank % 2 == 0) {
      send(u[n - 2], up_);
      recv(u[n - 1], up_);
      send(u[1], down_);
      recv(u[0], down_);
    } else {
      recv(u[0], down_);
      send(u[1], down_);
      recv(u[n - 1], up_);
      send(u[n - 2], up_);
    }
  }

 private:
  static void send(double value, int to) { MPI_Send(&value, 1, MPI_DOUBLE, to, 8, MPI_COMM_WORLD); }
  static void recv(double& value, int from) {
    MPI_Recv(&value, 1, MPI_DOUBLE, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  int up_, down_;
};

static double relax(std::vector<double>& u) {
  double change = 0;
  for (size_t i = 1; i + 1 < u.size(); ++i) {
    const double next = 0.5 * u[i] + 0.25 * (u[i - 1] + u[i + 1]);
    change = std::fmax(change, std::fabs(next - u[i]));
    u[i] = next;
  }
  return change;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<double> u(10);
  for (int i = 0; i < 10; ++i) u[i] = rank * (i % 3);
  const Boundary boundary;
  double worst = 1;
  for (int it = 0; it < 25 && worst > 1e-6; ++it) {
    boundary.exchange(u);
    const double mine = rank == 0 ? std::pow(0.1, it) : relax(u);
#ifndef CONTROL
    if (mine < 1e-6) break;
#endif
    MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  std::vector<double> all(10 * size);
  MPI_Gather(u.data(), 10, MPI_DOUBLE, all.data(), 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);  // @culprit
  if (rank == 0) std::printf("%s\n", all[0] < 2 ? "done" : "diverged");
  MPI_Finalize();
}
