// Two ranks send to each other before they receive, and forget the group around it.
//
// rollcall-test: ranks=2 outcome=hung
// expect: kind=p2p-deadlock culprits=0,1 waiting=any op=ncclSend seq=any
// expect+: certainty=likely lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, (float)Rank());
  const int peer = 1 - Rank();
#ifdef FAULT
#else
  ncclGroupStart();
#endif
  ncclSend(data, 8, ncclFloat32, peer, comm, stream);  // @waiting
  ncclRecv(data + 8, 8, ncclFloat32, peer, comm, stream);
#ifdef FAULT
#else
  ncclGroupEnd();
#endif
  cudaStreamSynchronize(stream);
  Report("value", data[8]);
  ncclCommDestroy(comm);
  return 0;
}
