// Rank 2 skips the reduction of the gradients in the third step; the others wait in it, on
// their streams, and their hosts wait for the streams.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1,3 op=ncclAllReduce seq=5
// expect+: certainty=proven,likely
#include "tests/faults/nccl/nccl_fault.h"

static void Step(ncclComm_t comm, cudaStream_t stream, float* gradients, int step) {
#ifdef FAULT
  const int skip = step == 2 && Rank() == 2;
#else
  const int skip = step < 0 && Rank() == 2;
#endif
  if (!skip) {
    ncclAllReduce(gradients, gradients, 16, ncclFloat32, ncclSum, comm, stream);  // @waiting
  }
  ncclAllGather(gradients, gradients + 16, 4, ncclFloat32, comm, stream);  // @culprit
  cudaStreamSynchronize(stream);
}

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* gradients = Floats(1024, 1);
  for (int step = 0; step < 4; ++step) Step(comm, stream, gradients, step);
  Report("sum", gradients[0]);
  ncclCommDestroy(comm);
  return 0;
}
