/* SPDX-License-Identifier: Apache-2.0 */
/* Opens MPI plugins with RTLD_LOCAL: the MPI library never gets into the global scope. Two plugins
   of different MPI libraries take turns, as in a Python that imports extensions of both. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { kMost = 2 };

typedef struct {
  void (*begin)(int, char**);
  void (*use)(void);
  int (*end)(void);
} Plugin;

static int Open(const char* path, Plugin* plugin) {
  /* Now: an MPI library that initialises itself may come into the global scope, and change what
     another is bound to. */
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 0;
  }
  plugin->begin = (void (*)(int, char**))dlsym(library, "BeginMpi");
  plugin->use = (void (*)(void))dlsym(library, "UseMpi");
  plugin->end = (int (*)(void))dlsym(library, "EndMpi");
  return 1;
}

int main(int argc, char** argv) {
  Plugin plugins[kMost];
  int count = 0;
  for (; count < kMost && argv[count + 1] != NULL; ++count) {
    if (access(argv[count + 1], R_OK) != 0) {
      printf("%s was not built\n", argv[count + 1]);
      return 77;
    }
    if (!Open(argv[count + 1], &plugins[count])) return 70;
  }
  for (int i = 0; i < count; ++i) plugins[i].begin(argc, argv);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < count; ++i) plugins[i].use();
  }
  int result = 0;
  for (int i = 0; i < count; ++i) {
    result = plugins[i].end();
    printf("plugin returned %d\n", result);
  }
  return result;
}
