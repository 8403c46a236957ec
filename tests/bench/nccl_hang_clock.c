/* SPDX-License-Identifier: Apache-2.0 */
/* As hang_clock.c, on the simulated NCCL: rank 1 skips an all-reduce, and every rank says when it
 * begins to wait for its stream. A verdict is possible from the last of these moments. */
#include <time.h>

#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(1024, 1);
  for (int i = 0; i < 10; ++i) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
  }
  if (Rank() != 1) ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
  ncclAllGather(data, data + 64, 4, ncclFloat32, comm, stream);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
  fflush(stdout);
  cudaStreamSynchronize(stream);
  return 0;
}
