/* SPDX-License-Identifier: Apache-2.0 */
/* closefrom(3), then a file of the user's gets the numbers that others had open before: nothing but
   the user's bytes may end up in it, whatever is recorded from here on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolation.h"

__attribute__((noinline)) static int Deeper(int levels) {
  if (levels == 0) {
    Barriers(1);
    return 0;
  }
  return Deeper(levels - 1) + 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Barriers(3);
  closefrom(3);
  int files[8];
  for (int i = 0; i < 8; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "closefrom-%d", i);
    files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(files[i] == 3 + i);
    REQUIRE(write(files[i], "mine", 4) == 4);
  }
  for (int i = 0; i < 40; ++i) Deeper(i); /* 40 stacks that were not seen before */
  Allreduces(10);
  for (int i = 0; i < 8; ++i) {
    char text[64] = "";
    struct stat info;
    REQUIRE(fstat(files[i], &info) == 0);
    REQUIRE(pread(files[i], text, sizeof(text) - 1, 0) >= 0);
    printf("%d bytes: %s\n", (int)info.st_size, text);
  }
  fflush(stdout);
  _exit(3); /* not finalized: the library lost its descriptors, too */
}
