// Three ranks poll whether their nonblocking communicator is ready; rank 3 never begins to
// create it.
//
// rollcall-test: ranks=4 outcome=hung stall-after=2
// expect: kind=init-hang culprits=3 waiting=0-2 op=any seq=any certainty=likely
// expect+: analyze-certainty=likely,suspected lines=none
#include "nccl_nonblocking.h"

int main(void) {
  ncclComm_t control = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  ncclComm_t comm = NULL;
#ifdef FAULT
  if (Rank() == 3) pause();
#endif
  const ncclResult_t begun = BeginComm(&comm, 1);
  Finish(comm, begun, "ncclCommInitRankConfig");
  Finish(comm, ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream), "ncclAllReduce");
  cudaStreamSynchronize(stream);
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  ncclCommDestroy(control);
  return 0;
}
