// SPDX-License-Identifier: Apache-2.0
// Eight ranks in three dimensions. In one round nothing moved on rank 5, which skips its exchange;
// its three neighbours wait for it.
//
// job: ranks=8 outcome=hung
// expect: kind=rank-conditional-collective|p2p-unmatched culprits=5
#include <mpi.h>
#include <stdio.h>

enum { kFace = 64 };

static int rank;
static MPI_Comm cart;

static int moved(int step) {
#ifndef CONTROL
  if (rank == 5 && step == 3) return 0;
#endif
  return step % 2 == 1;
}

static void exchange_faces(double out[6][kFace], double in[6][kFace]) {
  MPI_Request requests[12];
  int n = 0;
  for (int dim = 0; dim < 3; ++dim) {
    int low, high;
    MPI_Cart_shift(cart, dim, 1, &low, &high);
    const int peers[2] = {low, high};
    for (int side = 0; side < 2; ++side) {
      const int face = 2 * dim + side;
      MPI_Irecv(in[face], kFace, MPI_DOUBLE, peers[side], face ^ 1, cart, &requests[n++]);
      MPI_Isend(out[face], kFace, MPI_DOUBLE, peers[side], face, cart, &requests[n++]);
    }
  }
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static double step_once(int step, double out[6][kFace], double in[6][kFace]) {
  double mine = 0, all = 0;
  for (int f = 0; f < 6; ++f) out[f][0] = rank + step + f;
  if (moved(step)) exchange_faces(out, in);
  for (int f = 0; f < 6; ++f) mine += in[f][0];
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, cart);
  return all;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int dims[3] = {2, 2, 2}, periods[3] = {0, 0, 0};
  static double out[6][kFace], in[6][kFace];
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
  MPI_Comm_rank(cart, &rank);
  double sum = 0;
  for (int step = 0; step < 6; ++step) sum += step_once(step, out, in);
  if (rank == 0) printf("%g\n", sum);
  MPI_Comm_free(&cart);
  MPI_Finalize();
  return 0;
}
