// Rank 1's host sleeps in its input pipeline; the others' devices wait for its part.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=1 waiting=0,2 op=ncclAllReduce seq=3 certainty=likely
// expect+: analyze-certainty=likely,suspected lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  for (int step = 0; step < 4; ++step) {
#ifdef FAULT
    if (step == 2 && Rank() == 1) pause();
#endif
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
