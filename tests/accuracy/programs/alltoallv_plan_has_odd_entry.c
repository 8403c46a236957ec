// SPDX-License-Identifier: Apache-2.0
// The plan of a redistribution is symmetric: each pair exchanges as much in both directions. One
// entry of rank 1 is not: it sends rank 3 more than rank 3 expects, and than it expects itself from
// rank 3.
//
// job: ranks=4 outcome=failed
// expect: kind=count-mismatch culprits=1|1,3
// says: MPI_Alltoallv
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

struct plan {
  int send[16], recv[16], send_at[16], recv_at[16], sent, received;
};

static int overlap(int a, int b) { return 100 * (1 + (a + b) % 3); }

static struct plan make_plan(void) {
  struct plan p = {.sent = 0};
  for (int r = 0; r < size; ++r) {
    p.send[r] = p.recv[r] = overlap(rank, r);
#ifndef CONTROL
    if (rank == 1 && r == 3) p.send[r] += 50; /* a corner counted twice */
#endif
    p.send_at[r] = p.sent;
    p.recv_at[r] = p.received;
    p.sent += p.send[r];
    p.received += p.recv[r];
  }
  return p;
}

static double redistribute(const struct plan* p) {
  double *out = calloc(p->sent, sizeof *out), *in = calloc(p->received, sizeof *in);
  for (int i = 0; i < p->sent; ++i) out[i] = rank;
  MPI_Alltoallv(out, p->send, p->send_at, MPI_DOUBLE,  // @culprit
                in, p->recv, p->recv_at, MPI_DOUBLE, MPI_COMM_WORLD);
  double sum = 0;
  for (int i = 0; i < p->received; ++i) sum += in[i];
  free(out);
  free(in);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const struct plan p = make_plan();
  double sum = 0, all = 0;
  for (int i = 0; i < 3; ++i) sum += redistribute(&p);
  MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%g\n", all);
  MPI_Finalize();
  return 0;
}
