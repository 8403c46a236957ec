/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries whose functions do nothing, for tests/bench/nccl: what is left of a call is what
   rollcall adds. Built twice: as libnccl.so.2, and with -DDRIVER as libcuda.so.1. */
#include <stddef.h>
#include <stdint.h>

#ifndef DRIVER

typedef struct {
  char bytes[128];
} Id;

int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}
int ncclCommInitRank(void** comm, int nranks, Id id, int rank) {
  (void)nranks, (void)id, (void)rank;
  static int one;
  *comm = &one;
  return 0;
}
int ncclAllReduce(const void* send, void* recv, size_t count, int type, int op, void* comm,
                  void* stream) {
  (void)send, (void)recv, (void)count, (void)type, (void)op, (void)comm, (void)stream;
  return 0;
}
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }

#else

int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = 0;
  return 0;
}
static int context;
int cuCtxGetCurrent(void** current) {
  *current = &context;
  return 0;
}
int cuStreamGetCtx(void* stream, void** of) {
  (void)stream;
  *of = &context;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  (void)mode;
  return 0;
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  (void)memory, (void)bytes, (void)flags;
  return 0;
}
int cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned flags) {
  (void)flags;
  *address = (uint64_t)memory;
  return 0;
}
/* A device that is always there already. */
int cuStreamWriteValue32_v2(void* stream, uint64_t address, uint32_t value, unsigned flags) {
  (void)stream, (void)flags;
  *(volatile uint32_t*)address = value;
  return 0;
}

#endif
