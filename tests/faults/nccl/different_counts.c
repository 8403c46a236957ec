// Rank 1 reduces one element less than the others.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=count-mismatch culprits=1 waiting=0,2 op=ncclAllReduce seq=2 certainty=proven
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(64, 1);
  for (int step = 0; step < 4; ++step) {
    size_t count = 32;
#ifdef FAULT
    if (step == 1 && Rank() == 1) count = 31;
#endif
    ncclAllReduce(data, data, count, ncclFloat32, ncclSum, comm, stream);  // @waiting @culprit
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
