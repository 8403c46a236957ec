// SPDX-License-Identifier: Apache-2.0
// Rank 0 fails to get the size of the file, jumps to the end of the function, and closes the file,
// which is collective. The others wait for its broadcast.
//
// report: HDFGroup/hdf5#118
// job: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static int get_size(MPI_File fh, MPI_Offset* size) {
  if (MPI_File_get_size(fh, size) != MPI_SUCCESS) return -1;
  return *size > 0 ? 0 : -1; /* an empty file is none of ours */
}

static int open_data(const char* name, MPI_File* fh, MPI_Offset* size) {
  int rc = 0;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, fh);
  if (rank == 0) {
    rc = get_size(*fh, size);
#ifndef CONTROL
    if (rc != 0) goto done;
#endif
  }
  MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rc != 0) goto done;
  MPI_Bcast(size, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
done:
  if (rc != 0) MPI_File_close(fh);  // @culprit
  return rc;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char name[64] = "";
  if (rank == 0) snprintf(name, sizeof name, "open_data_%ld", random() + (long)MPI_Wtime());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File fh;
  MPI_Offset size = 0;
  if (open_data(name, &fh, &size) != 0) {
    if (rank == 0) printf("cannot open %s\n", "the data");
  } else {
    MPI_File_close(&fh);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
