// Rank 0 opens a group twice and closes it once: the calls inside never reach its device.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=group-misuse culprits=0 waiting=1,2 op=ncclAllReduce seq=any
// expect+: certainty=likely,suspected lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
#ifdef FAULT
  if (Rank() == 0) ncclGroupStart();  // @culprit
#endif
  ncclGroupStart();
  ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);  // @waiting
  ncclGroupEnd();
  cudaStreamSynchronize(stream);
#ifdef FAULT
  if (Rank() == 0) pause();
#endif
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
