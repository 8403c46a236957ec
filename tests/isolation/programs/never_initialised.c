/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with MPI, as helpers of a package are, and never initialises it. */
#include "isolation.h"

int main(void) {
  int flag = -1;
  MPI_Initialized(&flag);
  printf("initialised %d\n", flag);
  return 2;
}
