// One-sided communication and MPI-IO, in which the library calls collectives of its own inside:
// correct.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/fault.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = WorldRank();
  double* memory = NULL;
  MPI_Win window;
  MPI_Win_allocate(sizeof(double) * 4, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  MPI_Win_fence(0, window);
  const double mine = rank + 1;
  MPI_Put(&mine, 1, MPI_DOUBLE, (rank + 1) % WorldSize(), 1, 1, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  const double got = memory[1];
  MPI_Win_free(&window);
  MPI_File file;
  char byte = 0;
  MPI_File_open(MPI_COMM_WORLD, "/dev/zero", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_File_read(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  Report("got", got + byte);
  MPI_Finalize();
  return 0;
}
