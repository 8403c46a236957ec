/* SPDX-License-Identifier: Apache-2.0 */
/* For a PMPI tool to count. */
#include "isolation.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(13);
  Allreduces(17);
  REQUIRE(PMPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS); /* past the tool, as Fortran bindings do */
  MPI_Finalize();
  return 0;
}
