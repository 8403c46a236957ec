// Rank 2 makes one step less and returns from main; the others still need it.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=finalized-early culprits=2 waiting=0,1 op=ncclAllReduce seq=4
// expect+: certainty=proven,likely lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  int steps = 4;
#ifdef FAULT
  if (Rank() == 2) steps = 3;
#endif
  for (int step = 0; step < steps; ++step) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  return 0;
}
