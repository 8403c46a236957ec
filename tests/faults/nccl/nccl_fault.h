// Code of all NCCL fault programs; compare ../fault.h. They run on the stand-ins of
// tests/nccl_sim, started by its fork_launcher: no GPU, no MPI.
#ifndef ROLLCALL_TESTS_FAULTS_NCCL_NCCL_FAULT_H_
#define ROLLCALL_TESTS_FAULTS_NCCL_NCCL_FAULT_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef ROLLCALL_REAL_NCCL
#include "tests/gpu/real_nccl.h"
#else
#include "tests/nccl_sim/nccl_api.h"
#endif

// The safety net of ../fault.h.
__attribute__((constructor)) static void ArmSafetyNet(void) { alarm(120); }

static inline int Environment(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atoi(text);
}
static inline int Rank(void) { return Environment("RANK"); }
static inline int Size(void) { return Environment("WORLD_SIZE"); }

static inline void Check(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: error %d\n", what, result);
  exit(9);
}

// The n-th id of this job, known to all ranks without communication.
static inline ncclUniqueId JobId(int n) {
#ifdef ROLLCALL_REAL_NCCL
  return SharedId(getenv("TORCHELASTIC_RUN_ID"), n);
#else
  ncclUniqueId id;
  memset(&id, 0, sizeof(id));
  snprintf(id.internal, sizeof(id.internal), "%.60s-%d", getenv("TORCHELASTIC_RUN_ID"), n);
  return id;
#endif
}

static inline ncclComm_t InitComm(int n) {
  ncclComm_t comm = NULL;
  Check(ncclCommInitRank(&comm, Size(), JobId(n), Rank()), "ncclCommInitRank");
  return comm;
}

static inline cudaStream_t NewStream(void) {
  cudaStream_t stream = NULL;
  Check(cudaStreamCreate(&stream), "cudaStreamCreate");
  return stream;
}

// `count` floats of value `value` on the device.
static inline float* Floats(size_t count, float value) {
  void* memory = NULL;
  Check(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc");
  for (size_t i = 0; i < count; ++i) ((float*)memory)[i] = value;
  return (float*)memory;
}

static inline void Report(const char* what, double value) {
  if (Rank() != 0) return;
  printf("%s %.6g\n", what, value);
  fflush(stdout);
}

#endif  // ROLLCALL_TESTS_FAULTS_NCCL_NCCL_FAULT_H_
