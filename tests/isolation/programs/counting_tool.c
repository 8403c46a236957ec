/* SPDX-License-Identifier: Apache-2.0 */
/* A PMPI tool, linked or preloaded: counts what passes, and tells at the end. */
#include <mpi.h>
#include <stdio.h>

static int barriers, reduces;

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++reduces;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void) {
  printf("the tool saw %d barriers, %d reductions\n", barriers, reduces);
  return PMPI_Finalize();
}
