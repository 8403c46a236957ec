/* SPDX-License-Identifier: Apache-2.0 */
/* Not an MPI program: probes weakly for MPI, as libraries with optional MPI support do. A preloaded
   library that defined MPI_Initialized would make it believe that there is one. With an argument it
   believes it anyway. */
#include <stdio.h>

__attribute__((weak)) extern int MPI_Initialized(int* flag);
__attribute__((weak)) extern int MPI_Comm_rank(long comm, int* rank);
__attribute__((weak)) extern int MPI_Barrier(long comm);
__attribute__((weak)) extern int PMPI_Allreduce(const void*, void*, int, long, long, long);

int main(int argc, char** argv) {
  (void)argv;
  printf("MPI_Initialized %s\n", MPI_Initialized != NULL ? "found" : "absent");
  printf("MPI_Comm_rank %s\n", MPI_Comm_rank != NULL ? "found" : "absent");
  if (argc > 1) {
    /* An error, not a crash, where no library stands behind the name. */
    const int barrier = MPI_Barrier == NULL ? 1 : MPI_Barrier(0);
    const int reduce = PMPI_Allreduce == NULL ? 1 : PMPI_Allreduce(NULL, NULL, 0, 0, 0, 0);
    printf("errors %d %d\n", barrier != 0, reduce != 0);
  }
  return 6;
}
