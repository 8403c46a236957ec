// Every rank broadcasts from a root that it computes; rank 0 computes another one.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=root-mismatch culprits=0 waiting=1,2 op=ncclBroadcast seq=1 certainty=proven
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, (float)Rank());
#ifdef FAULT
  const int root = Rank() == 0 ? 0 : 2;
#else
  const int root = 2;
#endif
  ncclBroadcast(data, data, 16, ncclFloat32, root, comm, stream);  // @waiting @culprit
  cudaStreamSynchronize(stream);
  Report("value", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
