// Rank 3 continues without the communicator whose creation the other three wait for.
//
// rollcall-test: ranks=4 outcome=hung stall-after=2
// expect: kind=init-hang culprits=3 waiting=0-2 op=any seq=any certainty=likely
// expect+: analyze-certainty=likely,suspected lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t control = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
#ifdef FAULT
  const int comes = Rank() != 3;
#else
  const int comes = Rank() >= 0;
#endif
  ncclComm_t comm = comes ? InitComm(1) : NULL;  // @waiting
  while (comm == NULL) usleep(10000);            // @culprit
  ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
  cudaStreamSynchronize(stream);
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  ncclCommDestroy(control);
  return 0;
}
