// SPDX-License-Identifier: Apache-2.0
// Linked with NCCL, and loaded by local.c as Python loads an extension: nobody else sees its
// library. It splits its communicator, too: rank and size of the new one are asked of the library
// that it has.
#include "tests/faults/nccl/nccl_fault.h"

int Run(void) {
  ncclComm_t comm = InitComm(0);
  ncclComm_t made = NULL;
  cudaStream_t stream = NewStream();
  float value = 1;
  Check(ncclCommSplit(comm, 0, Rank(), &made, NULL), "ncclCommSplit");
  Check(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, made, stream), "ncclAllReduce");
  Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  Check(ncclCommDestroy(made), "ncclCommDestroy");
  Check(ncclCommDestroy(comm), "ncclCommDestroy");
  Report("sum", value);
  return 0;
}
