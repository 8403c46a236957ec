// SPDX-License-Identifier: Apache-2.0
// Linked with NCCL, and calls both names of a function, and one that calls another inside the
// library.
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float value = 1;
  Check(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
  Check(ncclBcast(&value, 1, ncclFloat32, 0, comm, stream), "ncclBcast");
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  Check(ncclCommDestroy(comm), "ncclCommDestroy");
  Report("sum", value);
  return 0;
}
