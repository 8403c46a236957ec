/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that initialises MPI, loads Python (the libpython that argv[1] names), and twice
 * initialises it, runs a script and finalizes it. Python is not linked, its symbols are not visible
 * to other libraries, and its headers are not needed. The program's own calls have no Python
 * frames. embedding.py checks the ring. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void* python;

static void* function(const char* name) {
  void* found = dlsym(python, name);
  if (found == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(1);
  }
  return found;
}

/* The script calls it, with the GIL held. */
static void* barrier(void* self, void* arguments) {
  (void)self;
  (void)arguments;
  MPI_Barrier(MPI_COMM_SELF);
  return ((void* (*)(long))function("PyLong_FromLong"))(0);
}

/* PyMethodDef (the stable ABI). */
static struct {
  const char* name;
  void* (*function)(void*, void*);
  int flags;
  const char* doc;
} method = {"barrier", barrier, 4 /* METH_NOARGS */, NULL};

static int run(void) {
  ((void (*)(void))function("Py_Initialize"))();
  void* main_module = ((void* (*)(const char*))function("PyImport_AddModule"))("__main__");
  void* callable =
      ((void* (*)(void*, void*, void*))function("PyCFunction_NewEx"))(&method, NULL, NULL);
  ((int (*)(void*, const char*, void*))function("PyModule_AddObject"))(main_module, "barrier",
                                                                       callable);
  const int result = ((int (*)(const char*))function("PyRun_SimpleString"))(
      "def inside():\n"
      "  barrier()\n"
      "def outside():\n"
      "  for _ in range(3):\n"
      "    inside()\n"
      "outside()\n");
  MPI_Barrier(MPI_COMM_SELF); /* holds the GIL, but runs no Python */
  ((int (*)(void))function("Py_FinalizeEx"))();
  MPI_Barrier(MPI_COMM_SELF);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_SELF);
  python = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (python == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const int failures = (run() != 0) + (run() != 0);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Finalize();
  return failures;
}
