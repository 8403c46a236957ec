/* SPDX-License-Identifier: Apache-2.0 */
/* What a Python extension is: a library linked with MPI, opened by a program that is not. */
#include "isolation.h"

void BeginMpi(int argc, char** argv) { MPI_Init(&argc, &argv); }

void UseMpi(void) {
  Barriers(20);
  Allreduces(5);
}

int EndMpi(void) {
  MPI_Finalize();
  return 8;
}
