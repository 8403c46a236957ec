// Rank 1 takes the maximum where the others add: nothing hangs, and the results differ.
//
// rollcall-test: ranks=3 outcome=finished
// expect: kind=op-mismatch culprits=1 waiting=none op=ncclAllReduce seq=1 certainty=proven
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 2);
  ncclRedOp_t op = ncclSum;
#ifdef FAULT
  if (Rank() == 1) op = ncclMax;
#endif
  ncclAllReduce(data, data, 16, ncclFloat32, op, comm, stream);  // @culprit
  cudaStreamSynchronize(stream);
  Report("done", 1);
  ncclCommDestroy(comm);
  return 0;
}
