/* SPDX-License-Identifier: Apache-2.0 */
/* Prints nothing at all. */
#include "isolation.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(2);
  MPI_Finalize();
  return 5;
}
