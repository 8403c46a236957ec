// Rank 0 asks NCCL for the cost of a group, and the others do not: the calls in the group are made,
// but go to no device and match nothing.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/nccl/nccl_fault.h"

static void Reduce(ncclComm_t comm, float* data, cudaStream_t stream) {
  Check(ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream), "ncclAllReduce");
}

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  for (int step = 0; step < 3; ++step) {
    if (Rank() == 0) {
      Check(ncclGroupStart(), "ncclGroupStart");
      Reduce(comm, data, stream);
      Check(ncclGroupSimulateEnd(NULL), "ncclGroupSimulateEnd");
    }
    Reduce(comm, data, stream);
    Check(ncclBroadcast(data, data, 16, ncclFloat32, step % Size(), comm, stream), "ncclBroadcast");
    Check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (Rank() == 1) usleep(300000);
  }
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
