// The stream of rank 1 stops after a reduction that all others have completed; they continue to the
// next.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=gpu-stalled culprits=1 waiting=0,2 op=ncclAllReduce seq=1
// expect+: certainty=suspected lines=none
// By its own marks the device is through with that one, too: it is what stands behind it.
// rollcall-test: name=marks ranks=3 outcome=hung stall-after=2 gpu=marks
// expect: kind=gpu-stalled culprits=1 waiting=0,2 op=ncclAllReduce seq=2
// expect+: certainty=suspected lines=none
#include "tests/faults/nccl/nccl_fault.h"

#ifdef FAULT
static void NeverEnds(void* data) {
  (void)data;
  pause();
}
#endif

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  for (int step = 0; step < 2; ++step) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
#ifdef FAULT
    if (Rank() == 1) cudaLaunchHostFunc(stream, NeverEnds, NULL);
#endif
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
