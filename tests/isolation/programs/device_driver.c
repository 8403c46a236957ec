/* SPDX-License-Identifier: Apache-2.0 */
/* Built as libcuda.so.1, and with AMD as libhsa-runtime64.so.1 and libamdhip64.so.6, and preloaded
   behind librollcall.so: a driver of a device, and an MPI library that takes pointers to its
   memory. The memory cannot be read, as a device's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

#include "device_memory.h"

#if defined(HSA)
static int g_initialized = 0;

int hsa_init(void) {
  g_initialized = 1;
  return 0;
}

/* As hsa_ext_amd.h has it. */
int hsa_amd_pointer_info(const void* pointer, void* info, void* allocate, unsigned* count,
                         void** agents) {
  enum { kNotInitialized = 0x100b };
  (void)pointer, (void)info, (void)allocate, (void)count, (void)agents;
  return g_initialized ? 0 : kNotInitialized;
}
#elif defined(HIP)
int hsa_amd_pointer_info(const void* pointer, void* info, void* allocate, unsigned* count,
                         void** agents);

/* The program has not asked for it: whoever does, chooses the devices. */
static void RequireInitialized(void) {
  unsigned info[64] = {56};
  if (hsa_amd_pointer_info(info, info, 0, 0, 0) != 0) abort();
}

static __thread int g_error = 0;

int hipPeekAtLastError(void) {
  RequireInitialized();
  return g_error;
}

int hipGetLastError(void) {
  RequireInitialized();
  const int error = g_error;
  g_error = 0;
  return error;
}

/* As hip_runtime_api.h has it. */
int hipPointerGetAttributes(void* attributes, const void* pointer) {
  enum { kInvalidValue = 1, kDevice = 2 };
  RequireInitialized();
  if (!IsOfDevice(pointer)) return g_error = kInvalidValue;
  *(int*)attributes = kDevice;
  return 0;
}
#else
/* As the CUDA driver API has it. */
int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer) {
  enum { kInvalidValue = 1, kMemoryType = 2, kDevice = 2 };
  if (attribute != kMemoryType || !IsOfDevice((const void*)pointer)) return kInvalidValue;
  *(unsigned*)data = kDevice;
  return 0;
}

#endif

#ifndef HSA
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
#endif
