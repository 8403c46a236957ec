// The other three ranks shrink a communicator to themselves, without rank 3. On the new one
// rank 1 skips a reduction.
//
// rollcall-test: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=ncclAllReduce seq=3
// expect+: certainty=proven,likely
#include "nccl_fault.h"

static void Step(ncclComm_t comm, cudaStream_t stream, float* data, int step) {
  int skip = step < 0;
#ifdef FAULT
  skip = step == 1 && Rank() == 1;
#endif
  if (!skip) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);  // @waiting
  }
  ncclAllGather(data, data + 16, 4, ncclFloat32, comm, stream);  // @culprit
  cudaStreamSynchronize(stream);
}

int main(void) {
  ncclComm_t world = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(1024, 1);
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, world, stream);
  cudaStreamSynchronize(stream);
  if (Rank() == 3) return 0;
  ncclComm_t comm = NULL;
  int excluded[] = {3};
  Check(ncclCommShrink(world, excluded, 1, &comm, NULL, NCCL_SHRINK_DEFAULT), "ncclCommShrink");
  for (int step = 0; step < 3; ++step) Step(comm, stream, data, step);
  Report("max", data[0]);
  ncclCommDestroy(comm);
  ncclCommDestroy(world);
  return 0;
}
