// Rank 1 has a kernel on its stream that never ends, before the reduction: every host waits,
// every call is correct, and no observation shows which device it is.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=transport-stalled culprits=none waiting=0-2 op=ncclAllReduce seq=2
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
#ifdef FAULT
    if (step == 1 && Rank() == 1) cudaLaunchHostFunc(stream, NeverEnds, NULL);
#endif
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
