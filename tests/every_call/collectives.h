// SPDX-License-Identifier: Apache-2.0
// The collectives with their arguments, for collectives.c: included once for the plain functions
// and once for those with large counts, whose arrays are COUNTS and DISPLS of other types.
//
//   EVERY(name, name in lower case, arguments...)
#ifndef LARGE
EVERY(Barrier, barrier, world)
#endif
EVERY(Bcast, bcast, out, 4, MPI_INT, 0, world)
EVERY(Gather, gather, in, 2, MPI_INT, out, 2, MPI_INT, 0, world)
EVERY(Gatherv, gatherv, in, 2, MPI_INT, out, COUNTS, DISPLS, MPI_INT, 0, world)
EVERY(Scatter, scatter, in, 2, MPI_INT, out, 2, MPI_INT, 0, world)
EVERY(Scatterv, scatterv, in, COUNTS, DISPLS, MPI_INT, out, 2, MPI_INT, 0, world)
EVERY(Allgather, allgather, in, 2, MPI_INT, out, 2, MPI_INT, world)
EVERY(Allgatherv, allgatherv, in, 2, MPI_INT, out, COUNTS, DISPLS, MPI_INT, world)
EVERY(Alltoall, alltoall, in, 2, MPI_INT, out, 2, MPI_INT, world)
EVERY(Alltoallv, alltoallv, in, COUNTS, DISPLS, MPI_INT, out, COUNTS, DISPLS, MPI_INT, world)
EVERY(Alltoallw, alltoallw, in, COUNTS, BYTES, types, out, COUNTS, BYTES, types, world)
EVERY(Reduce, reduce, in, out, 2, MPI_INT, MPI_SUM, 0, world)
EVERY(Allreduce, allreduce, in, out, 2, MPI_INT, MPI_SUM, world)
EVERY(Reduce_scatter, reduce_scatter, in, out, COUNTS, MPI_INT, MPI_SUM, world)
EVERY(Reduce_scatter_block, reduce_scatter_block, in, out, 2, MPI_INT, MPI_SUM, world)
EVERY(Scan, scan, in, out, 2, MPI_INT, MPI_SUM, world)
EVERY(Exscan, exscan, in, out, 2, MPI_INT, MPI_SUM, world)
EVERY(Neighbor_allgather, neighbor_allgather, in, 2, MPI_INT, out, 2, MPI_INT, cart)
EVERY(Neighbor_allgatherv, neighbor_allgatherv, in, 2, MPI_INT, out, COUNTS, DISPLS, MPI_INT, cart)
EVERY(Neighbor_alltoall, neighbor_alltoall, in, 2, MPI_INT, out, 2, MPI_INT, cart)
EVERY(Neighbor_alltoallv, neighbor_alltoallv, in, COUNTS, DISPLS, MPI_INT, out, COUNTS, DISPLS,
      MPI_INT, cart)
EVERY(Neighbor_alltoallw, neighbor_alltoallw, in, COUNTS, places, types, out, COUNTS, places, types,
      cart)
