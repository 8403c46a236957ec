// Rank 1 skips a reduction for which the others wait, because it has found a NaN. In the healthy
// job all ranks notice, abort the communicator and continue with another. In the fault only rank 1
// aborts.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=finalized-early culprits=1 waiting=0,2 op=ncclAllReduce seq=2
// expect+: certainty=proven,likely lines=none
#include "nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
  cudaStreamSynchronize(stream);
  if (Rank() != 1) ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
#ifdef FAULT
  if (Rank() == 1) {
    ncclCommAbort(comm);
    pause();
  }
  cudaStreamSynchronize(stream);
#else
  for (int i = 0; i < 50 && cudaStreamQuery(stream) != 0; ++i) usleep(2000);
#endif
  ncclCommAbort(comm);
  comm = InitComm(1);
  data[0] = (float)Rank();
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
  cudaStreamSynchronize(stream);
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
