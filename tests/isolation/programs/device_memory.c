/* SPDX-License-Identifier: Apache-2.0 */
/* Passes pointers to the memory of a device to MPI, as an MPI library that knows the device allows:
   whoever reads it, crashes. With "later", the driver is loaded after the first calls. */
#include "device_memory.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "isolation.h"

enum { kCount = 1000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  static double in[kCount], out[kCount];
  for (int i = 0; i < kCount; ++i) in[i] = i;
  MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  void* device = mmap((void*)DEVICE_MEMORY, DEVICE_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (device != (void*)DEVICE_MEMORY) return 3;
  int (*initialize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "hsa_init");
  if (initialize != NULL) initialize();
  for (int i = 0; i < 3; ++i) {
    MPI_Allreduce(device, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, device, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Ibcast(device, kCount, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  printf("%g\n", out[7]);
  MPI_Finalize();
  return 0;
}
