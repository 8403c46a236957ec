/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory fills up to the last byte while the job runs: what is mapped stays usable. argv[1]:
 * the directory. */
#include <fcntl.h>
#include <unistd.h>

#include "isolation.h"

__attribute__((noinline)) static int Deeper(int levels) {
  if (levels > 0) return Deeper(levels - 1) + 1;
  Barriers(1);
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char name[512];
  snprintf(name, sizeof(name), "%s/filler", argv[1]);
  const int fd = open(name, O_WRONLY | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  static char block[65536];
  while (write(fd, block, sizeof(block)) > 0) {
  }
  for (int i = 0; i < 50; ++i) Deeper(i);
  for (int i = 0; i < 2000; ++i) {
    MPI_Request request;
    int in = 1, out = 0;
    MPI_Irecv(&in, 1, MPI_INT, 0, i, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  Allreduces(20000); /* round every ring */
  close(fd);
  unlink(name);
  printf("done\n");
  MPI_Finalize();
  return 0;
}
