// A ring of messages in groups, then a reduction; rank 0 forgets its last send. Rank 1 waits for
// it, and all other ranks for rank 1.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=p2p-unmatched culprits=0,1 waiting=any op=ncclRecv seq=any
// expect+: certainty=likely lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, (float)Rank());
  const int next = (Rank() + 1) % Size();
  const int previous = (Rank() + Size() - 1) % Size();
  for (int step = 0; step < 3; ++step) {
    ncclGroupStart();
#ifdef FAULT
    if (step != 2 || Rank() != 0)
#endif
      ncclSend(data, 8, ncclFloat32, next, comm, stream);  // @culprit
    ncclRecv(data + 8, 8, ncclFloat32, previous, comm, stream);
    ncclGroupEnd();
  }
  ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, stream);
  cudaStreamSynchronize(stream);
  Report("value", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
