// SPDX-License-Identifier: Apache-2.0
// Nanoseconds for a small all-reduce, from the call to the end of the host's wait for it, and for
// the call alone: `latency BATCHES`; rank 0 prints a line for each batch.
#include <time.h>

#include "tests/faults/nccl/nccl_fault.h"

enum { kBatch = 200 };

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const int batches = argc > 1 ? atoi(argv[1]) : 20;
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(2, 1);
  for (int batch = -2; batch < batches; ++batch) {  // the first two warm up
    double called = 0;
    const double begin = NowNs();
    for (int i = 0; i < kBatch; ++i) {
      const double before = NowNs();
      Check(ncclAllReduce(data, data, 2, ncclFloat32, ncclMax, comm, stream), "ncclAllReduce");
      called += NowNs() - before;
      Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    const double all = NowNs() - begin;
    if (batch >= 0 && Rank() == 0) printf("%.0f %.0f\n", all / kBatch, called / kBatch);
  }
  Check(ncclCommDestroy(comm), "ncclCommDestroy");
  return 0;
}
