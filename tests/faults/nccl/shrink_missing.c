// Ranks 0 and 2 shrink the communicator of four to three, without rank 3; rank 1 never comes.
//
// rollcall-test: ranks=4 outcome=hung stall-after=2
// expect: kind=init-hang culprits=1 waiting=0,2 op=any seq=any certainty=likely
// expect+: analyze-certainty=likely,suspected lines=none
#include "nccl_fault.h"

int main(void) {
  ncclComm_t world = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, world, stream);
  cudaStreamSynchronize(stream);
#ifdef FAULT
  if (Rank() == 1) pause();
#endif
  if (Rank() != 3) {
    ncclComm_t comm = NULL;
    int excluded[] = {3};
    Check(ncclCommShrink(world, excluded, 1, &comm, NULL, NCCL_SHRINK_ABORT), "ncclCommShrink");
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    ncclCommDestroy(comm);
  }
  Report("sum", data[0]);
  return 0;
}
