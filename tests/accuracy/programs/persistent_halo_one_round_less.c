// SPDX-License-Identifier: Apache-2.0
// The number of steps is a share of the rank's own cells. Rank 2 makes one round less of a halo
// exchange with persistent requests in a periodic ring.
//
// job: ranks=4 outcome=hung
// expect: kind=uneven-iterations culprits=2
#include <mpi.h>
#include <stdio.h>

enum { kCells = 16 };

static int rank, size;

struct halo {
  double u[kCells + 2];
  MPI_Request requests[4];
};

static void halo_init(struct halo* h) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Recv_init(&h->u[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &h->requests[0]);
  MPI_Recv_init(&h->u[kCells + 1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &h->requests[1]);
  MPI_Send_init(&h->u[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &h->requests[2]);
  MPI_Send_init(&h->u[kCells], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &h->requests[3]);
}

static void halo_exchange(struct halo* h) {
  MPI_Startall(4, h->requests);
  MPI_Waitall(4, h->requests, MPI_STATUSES_IGNORE);
}

static void smooth(struct halo* h) {
  double next[kCells + 2];
  for (int i = 1; i <= kCells; ++i) next[i] = (h->u[i - 1] + h->u[i] + h->u[i + 1]) / 3;
  for (int i = 1; i <= kCells; ++i) h->u[i] = next[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct halo h = {.u = {0}};
  h.u[3] = rank;
#ifdef CONTROL
  const int cells = kCells;
#else
  const int cells = rank == 2 ? kCells - 1 : kCells;
#endif
  halo_init(&h);
  for (int step = 0; step < cells / 2; ++step) {
    halo_exchange(&h);
    smooth(&h);
  }
  double most = 0;
  MPI_Allreduce(&h.u[3], &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);  // @culprit
  for (int i = 0; i < 4; ++i) MPI_Request_free(&h.requests[i]);
  if (rank == 0) printf("%g\n", most);
  MPI_Finalize();
  return 0;
}
