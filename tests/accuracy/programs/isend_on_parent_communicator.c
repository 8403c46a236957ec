// SPDX-License-Identifier: Apache-2.0
// A library has its own duplicate of the communicator. Where a rank has no particles of its own,
// its empty message goes out on the communicator that the caller passed.
//
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched culprits=3
// says: on MPI_COMM_WORLD
#include <mpi.h>
#include <stdio.h>

enum { kTag = 11 };

struct plan {
  MPI_Comm caller, own;
  int rank, size;
};

static double migrate(const struct plan* plan, int particles, double energy) {
  const int to = (plan->rank + 1) % plan->size, from = (plan->rank + plan->size - 1) % plan->size;
  double got = 0;
  MPI_Request requests[2];
#ifdef CONTROL
  const MPI_Comm comm = plan->own;
#else
  const MPI_Comm comm = particles > 0 ? plan->own : plan->caller;
#endif
  MPI_Irecv(&got, 1, MPI_DOUBLE, from, kTag, plan->own, &requests[0]);
  MPI_Isend(&energy, particles > 0, MPI_DOUBLE, to, kTag, comm, &requests[1]);  // @culprit
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  return got;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  struct plan plan = {.caller = MPI_COMM_WORLD};
  MPI_Comm_dup(plan.caller, &plan.own);
  MPI_Comm_rank(plan.own, &plan.rank);
  MPI_Comm_size(plan.own, &plan.size);
  double energy = 1;
  int particles = 2 * plan.size - plan.rank;
  for (int step = 0; step < 8; ++step) {
    energy += migrate(&plan, particles, energy);
    if (plan.rank == plan.size - 1 && particles > 0) --particles;
  }
  MPI_Barrier(plan.caller);
  if (plan.rank == 0) printf("%g\n", energy);
  MPI_Comm_free(&plan.own);
  MPI_Finalize();
  return 0;
}
