// SPDX-License-Identifier: Apache-2.0
// C++ exceptions pass through MPI calls and are caught, and are unwound by the program's own
// unwinder: a preloaded library that brings another one takes all exceptions over (libunwind
// exports _Unwind_*).
#include <dlfcn.h>

#include <stdexcept>

#include "isolation.h"

extern "C" void _Unwind_RaiseException();

namespace {

struct Guarded {
  int* destroyed;
  ~Guarded() { ++*destroyed; }
};

void ThrowFromHandler(MPI_Comm*, int*, ...) { throw std::runtime_error("from an error handler"); }

int ThrowFromDelete(MPI_Comm, int, void*, void*) { throw 42; }

__attribute__((noinline)) void Deep(int levels, int* destroyed) {
  const Guarded guarded{destroyed};
  if (levels > 0) {
    Deep(levels - 1, destroyed);
  } else {
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Send(nullptr, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Dl_info unwinder;
  MPI_Init(&argc, &argv);
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "_Unwind_RaiseException"), &unwinder) != 0);
  printf("unwinder libgcc_s: %d\n", strstr(unwinder.dli_fname, "libgcc_s") != nullptr);
  REQUIRE(dladdr(reinterpret_cast<void*>(&_Unwind_RaiseException), &unwinder) != 0);
  printf("linked unwinder libgcc_s: %d\n", strstr(unwinder.dli_fname, "libgcc_s") != nullptr);

  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(ThrowFromHandler, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  int caught = 0, destroyed = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      Deep(i % 20, &destroyed);
    } catch (const std::runtime_error& error) {
      caught += strcmp(error.what(), "from an error handler") == 0;
    }
  }
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, ThrowFromDelete, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  try {
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
  } catch (int value) {
    caught += value;
  }
  Barriers(5);
  printf("caught %d, destroyed %d\n", caught, destroyed);
  fflush(stdout);
  _Exit(0);  // the library was left in the middle of its calls: it may not finalize any more
}
