// Communicators that do not block: NCCL's own thread hands operations over, some alone and some in
// groups. Rank 2 leaves out the reduction of the third step.
//
// rollcall-test: ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=ncclAllReduce seq=5
// expect+: certainty=proven,likely
#include "nccl_nonblocking.h"

static void Step(ncclComm_t comm, cudaStream_t stream, float* data, int step) {
  int skip = step < 0;
#ifdef FAULT
  skip = step == 2 && Rank() == 2;
#endif
  if (!skip) {
    Finish(comm, ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream),  // @waiting
           "ncclAllReduce");
  }
  Check(ncclGroupStart(), "ncclGroupStart");
  ncclAllGather(data, data + 16, 4, ncclFloat32, comm, stream);  // @culprit
  Finish(comm, ncclGroupEnd(), "ncclGroupEnd");
  cudaStreamSynchronize(stream);
}

int main(void) {
  ncclComm_t comm = NULL;
  const ncclResult_t begun = BeginComm(&comm, 0);
  Finish(comm, begun, "ncclCommInitRankConfig");
  cudaStream_t stream = NewStream();
  float* data = Floats(1024, 1);
  for (int step = 0; step < 4; ++step) Step(comm, stream, data, step);
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
