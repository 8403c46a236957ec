// SPDX-License-Identifier: Apache-2.0
// The requests of a halo exchange are made once. Where the domain is closed, rank 2 takes the tag
// of the other side for what it sends to the right.
//
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched culprits=2
// says: rank 2 sent tag 2.*tag 1
#include <mpi.h>
#include <stdio.h>

enum { kCells = 16, kToRight = 1, kToLeft = 2 };

struct halo {
  double u[kCells + 2];
  MPI_Request requests[4];
};

static void halo_init(struct halo* h, int rank, int size) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
#ifdef CONTROL
  const int tag = kToRight;
#else
  const int tag = right == size - 1 ? kToLeft : kToRight;
#endif
  MPI_Recv_init(&h->u[0], 1, MPI_DOUBLE, left, kToRight, MPI_COMM_WORLD, &h->requests[0]);
  MPI_Recv_init(&h->u[kCells + 1], 1, MPI_DOUBLE, right, kToLeft, MPI_COMM_WORLD, &h->requests[1]);
  MPI_Send_init(&h->u[1], 1, MPI_DOUBLE, left, kToLeft, MPI_COMM_WORLD, &h->requests[2]);
  MPI_Send_init(&h->u[kCells], 1, MPI_DOUBLE, right, tag, MPI_COMM_WORLD,  // @culprit
                &h->requests[3]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct halo h = {.u = {0}};
  h.u[3] = rank;
  halo_init(&h, rank, size);
  for (int step = 0; step < 8; ++step) {
    double next[kCells + 2];
    MPI_Startall(4, h.requests);
    MPI_Waitall(4, h.requests, MPI_STATUSES_IGNORE);
    for (int i = 1; i <= kCells; ++i) next[i] = (h.u[i - 1] + h.u[i] + h.u[i + 1]) / 3;
    for (int i = 1; i <= kCells; ++i) h.u[i] = next[i];
  }
  double most = 0;
  MPI_Allreduce(&h.u[3], &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) MPI_Request_free(&h.requests[i]);
  if (rank == 0) printf("%g\n", most);
  MPI_Finalize();
  return 0;
}
