/* Built as libcuda.so.1, and preloaded behind librollcall.so: a driver of a device, and an MPI
   library that takes pointers to its memory. The memory cannot be read, as a device's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#include "device_memory.h"

/* As the CUDA driver API has it. */
int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer) {
  enum { kInvalidValue = 1, kMemoryType = 2, kDevice = 2 };
  if (attribute != kMemoryType || !IsOfDevice((const void*)pointer)) return kInvalidValue;
  *(unsigned*)data = kDevice;
  return 0;
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  if (IsOfDevice(in) || IsOfDevice(out)) return MPI_SUCCESS;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  if (IsOfDevice(buffer)) return PMPI_Ibarrier(comm, request);
  return PMPI_Ibcast(buffer, count, type, root, comm, request);
}
