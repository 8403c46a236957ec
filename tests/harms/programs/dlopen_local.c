/* Opens an MPI plugin with RTLD_LOCAL: the MPI library never gets into the global scope. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 70;
  }
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(library, "RunMpi");
  const int result = run(argc, argv);
  printf("plugin returned %d\n", result);
  return result;
}
