// The driver rejects marks: they are disabled, and the job runs as without them. Also three hundred
// launches on three streams, more than the number of marks that may be outstanding.
//
// rollcall-test: ranks=2 gpu=marks
// expect: none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  if (Rank() == 1) setenv("CUDA_SIM_FAIL", "write", 1);
  ncclComm_t comm = InitComm(0);
  float* data = Floats(16, 1);
  cudaStream_t streams[3];
  for (int i = 0; i < 3; ++i) streams[i] = NewStream();
  for (int step = 0; step < 300; ++step) {
    cudaStream_t stream = streams[step / 100];
    if (step % 100 == 0) cudaDeviceSynchronize();
    ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
  }
  cudaDeviceSynchronize();
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
