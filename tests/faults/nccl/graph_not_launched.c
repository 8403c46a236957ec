// Rank 0 records a reduction into a graph and never launches it, which is correct: no other rank
// has to match that reduction, however long all ranks compute.
//
// rollcall-test: ranks=2 stall-after=1
// expect: none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  if (Rank() == 0) {
    cudaGraph_t graph = NULL;
    Check(cudaStreamBeginCapture(stream, 0), "cudaStreamBeginCapture");
    ncclReduce(data, data, 16, ncclFloat32, ncclSum, 0, comm, stream);
    Check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  }
  ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
  usleep(1500000);  // longer than it takes to be called stalled
  cudaStreamSynchronize(stream);
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
