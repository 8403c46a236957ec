// Rank 2 reduces doubles where the others reduce floats: another type, and twice the bytes.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=datatype-mismatch culprits=2 waiting=0,1 op=ncclReduce seq=1 certainty=proven
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(64, 1);
  ncclDataType_t type = ncclFloat32;
#ifdef FAULT
  if (Rank() == 2) type = ncclFloat64;
#endif
  ncclReduce(data, data + 32, 16, type, ncclSum, 0, comm, stream);  // @waiting @culprit
  cudaDeviceSynchronize();
  Report("sum", data[32]);
  ncclCommDestroy(comm);
  return 0;
}
