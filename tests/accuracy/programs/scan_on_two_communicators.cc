// SPDX-License-Identifier: Apache-2.0
// An exclusive sum over the ranks, done by hand: it receives on the communicator of the domain and
// sends on MPI_COMM_WORLD.
//
// report: ls1mardyn/ls1-mardyn#160
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched culprits=any attach-kind=p2p-deadlock
// says: communicator|MPI_COMM_WORLD
#include <mpi.h>

#include <cstdio>

struct Domain {
  MPI_Comm comm;
  int rank, size;
  Domain() {
    int dims[1] = {0}, periods[1] = {0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    MPI_Comm_rank(comm, &rank);
  }
  ~Domain() { MPI_Comm_free(&comm); }
};

static unsigned long first_id(const Domain& domain, unsigned long particles) {
  unsigned long before = 0;
#ifdef CONTROL
  MPI_Comm to_next = domain.comm;
#else
  MPI_Comm to_next = MPI_COMM_WORLD;
#endif
  if (domain.rank > 0)
    MPI_Recv(&before, 1, MPI_UNSIGNED_LONG, domain.rank - 1, 0, domain.comm, MPI_STATUS_IGNORE);
  if (domain.rank + 1 < domain.size) {
    const unsigned long sum = before + particles;
    MPI_Send(&sum, 1, MPI_UNSIGNED_LONG, domain.rank + 1, 0, to_next);
  }
  return before;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Domain domain;
    const unsigned long first = first_id(domain, 1000 + domain.rank);
    unsigned long most = 0;
    MPI_Allreduce(&first, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, domain.comm);
    if (domain.rank == 0) std::printf("%lu\n", most);
  }
  MPI_Finalize();
}
