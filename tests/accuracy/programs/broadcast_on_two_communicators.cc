// SPDX-License-Identifier: Apache-2.0
// Rank 3 finds that it shares the memory of its node with nobody, and broadcasts on the
// communicator of all orbitals, while the others broadcast on that of the shared memory.
//
// report: MRChemSoft/mrchem#351
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch|order-inversion culprits=3
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace mpi {
MPI_Comm comm_orb, comm_share;
int rank, ranks_on_node;

void initialize() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_orb);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm_share);
  MPI_Comm_size(comm_share, &ranks_on_node);
#ifndef CONTROL
  if (rank == 3) ranks_on_node = 1;  // the other processes of its node are a bank
#endif
}
}  // namespace mpi

struct Function {
  std::vector<double> values = std::vector<double>(100, 1.0);
  bool shared() const { return mpi::ranks_on_node > 1; }
};

static void broadcast_function(Function& f, int owner) {
  MPI_Comm comm = f.shared() ? mpi::comm_share : mpi::comm_orb;
  const int n = static_cast<int>(f.values.size());
  MPI_Bcast(f.values.data(), n, MPI_DOUBLE, owner, comm);  // @culprit
}

static double norm(const Function& f) {
  double mine = 0, all = 0;
  for (double v : f.values) mine += v * v;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, mpi::comm_orb);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  mpi::initialize();
  Function f;
  double sum = norm(f);
  for (int owner = 0; owner < 4; ++owner) {
    broadcast_function(f, owner);
    sum += norm(f);
  }
  if (mpi::rank == 0) std::printf("%g\n", sum);
  MPI_Comm_free(&mpi::comm_share);
  MPI_Comm_free(&mpi::comm_orb);
  MPI_Finalize();
}
