// Two communicators over the same ranks, on one stream: rank 2 uses them in the opposite order. No
// call is wrong by itself; each device has first the one that the other has second. Suspected only:
// no host has observed any completion on its device before.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=2 waiting=0,1 op=ncclAllReduce seq=1
// expect+: certainty=suspected
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comms[2] = {InitComm(0), InitComm(1)};
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
#ifdef FAULT
  const int first = Rank() == 2;
#else
  const int first = 0;
#endif
  for (int i = 0; i < 2; ++i) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comms[i ^ first],  // @waiting @culprit
                  stream);
  }
  cudaStreamSynchronize(stream);
  Report("sum", data[0]);
  ncclCommDestroy(comms[0]);
  ncclCommDestroy(comms[1]);
  return 0;
}
