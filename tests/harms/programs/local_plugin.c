/* What a Python extension is: a library linked with MPI, opened by a program that is not. */
#include "harm.h"

int RunMpi(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(20);
  Allreduces(5);
  MPI_Finalize();
  return 8;
}
