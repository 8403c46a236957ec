// Rank 0 reduces a metric that the others do not.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=0 waiting=1,2 op=any seq=3
// expect+: certainty=proven,likely
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(1024, 1);
  for (int step = 0; step < 3; ++step) {
#ifdef FAULT
    if (step == 1 && Rank() == 0) {
      ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, stream);  // @culprit
    }
#endif
    ncclReduceScatter(data, data + 16, 4, ncclFloat32, ncclSum, comm, stream);  // @waiting
    ncclAllGather(data + 16, data, 4, ncclFloat32, comm, stream);
    cudaStreamSynchronize(stream);
  }
  Report("value", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
