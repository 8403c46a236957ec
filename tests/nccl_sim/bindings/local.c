// SPDX-License-Identifier: Apache-2.0
// Loads the plugin argv[1] with RTLD_LOCAL and runs it.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 7;
  }
  int (*run)(void) = (int (*)(void))dlsym(plugin, "Run");
  return run == NULL ? 8 : run();
}
