// SPDX-License-Identifier: Apache-2.0
// Rank 0 has no ghosts and does not list rank 1 as a destination, while rank 1 lists rank 0 as a
// source: rank 1 waits in MPI_Neighbor_alltoall for a message that rank 0 never sends.
//
// report: FEniCS/dolfinx#1562
// job: ranks=4 outcome=hung
// expect: kind=p2p-unmatched|collective-mismatch|count-mismatch culprits=0|0,1
// says: neighbo|source|destination|MPI_Dist_graph_create
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static MPI_Comm ghost_graph(int* in, int* out) {
  int src[2], dst[2];
  *in = *out = 0;
  if (rank > 0) src[(*in)++] = rank - 1;
  if (rank + 1 < size) src[(*in)++] = rank + 1;
  for (int i = 0; i < *in; ++i) {
#ifndef CONTROL
    if (rank == 0) continue;  // has no ghosts, so "shares nothing"
#endif
    dst[(*out)++] = src[i];
  }
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, *in, src, MPI_UNWEIGHTED, *out, dst,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return graph;
}

static double scatter_forward(MPI_Comm graph, int in, int out) {
  double send[2] = {rank, rank}, recv[2] = {0, 0};
  MPI_Neighbor_alltoall(send, 1, MPI_DOUBLE, recv, 1, MPI_DOUBLE, graph);
  double s = 0;
  for (int i = 0; i < in; ++i) s += recv[i];
  (void)out;
  return s;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int in, out;
  MPI_Comm graph = ghost_graph(&in, &out);
  double s = 0, norm = 0;
  for (int it = 0; it < 3; ++it) {
    s += scatter_forward(graph, in, out);
    MPI_Allreduce(&s, &norm, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("norm %g\n", norm);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return 0;
}
