// Rank 1 is killed between two steps; the others' streams wait for it.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-died culprits=1 waiting=0,2 op=ncclAllReduce seq=3 certainty=proven,likely
// expect+: lines=none
#include <signal.h>

#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  for (int step = 0; step < 4; ++step) {
#ifdef FAULT
    if (step == 2 && Rank() == 1) kill(getpid(), SIGSEGV);
#endif
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
