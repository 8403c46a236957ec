// Rank 2 was told of one rank less than there are: it waits for two, the others for three.
//
// rollcall-test: ranks=3 outcome=hung stall-after=2
// expect: kind=init-hang culprits=2 waiting=0,1 op=any seq=any certainty=proven
// expect+: lines=none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  int nranks = Size();
  int rank = Rank();
#ifdef FAULT
  if (rank == 2) {
    nranks = 2;
    rank = 1;
  }
#endif
  ncclComm_t comm = NULL;
  Check(ncclCommInitRank(&comm, nranks, JobId(0), rank), "ncclCommInitRank");  // @waiting @culprit
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);
  cudaStreamSynchronize(stream);
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
