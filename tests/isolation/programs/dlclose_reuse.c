/* SPDX-License-Identifier: Apache-2.0 */
/* A library goes and another one comes to its address, with other frames at the same offsets. */
#include <dlfcn.h>

#include "isolation.h"

static int Collective(void) {
  Barriers(1);
  return 0;
}

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  MPI_Init(&argc, &argv);
  void* last = NULL;
  int reused = 0, sum = 0;
  for (int i = 0; i < 100; ++i) {
    void* library = dlopen(argv[1 + i % 2], RTLD_NOW);
    REQUIRE(library != NULL);
    int (*call)(int (*)(void)) = (int (*)(int (*)(void)))dlsym(library, "PluginCall");
    REQUIRE(call != NULL);
    reused += (void*)call == last;
    last = (void*)call;
    for (int j = 0; j < 3; ++j) sum += call(Collective);
    REQUIRE(dlclose(library) == 0);
  }
  printf("sum %d, address reused: %d\n", sum, reused > 50);
  MPI_Finalize();
  return 0;
}
