// A step recorded into a CUDA graph and launched many times, with other work between; rank 2 leaves
// out a reduction that no graph holds. A graph whose recording anybody disturbed is not made, and
// one that somebody else put something into has other nodes.
//
// rollcall-test: name=marks ranks=3 outcome=hung gpu=marks
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=ncclAllReduce seq=2
// expect+: certainty=proven
// rollcall-test: name=plain ranks=3 outcome=hung
// expect: kind=rank-conditional-collective culprits=2 waiting=0,1 op=ncclAllReduce seq=2
// expect+: certainty=proven
#include "tests/faults/nccl/nccl_fault.h"

static cudaGraphExec_t Record(ncclComm_t comm, float* data, cudaStream_t stream) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t made = NULL;
  size_t nodes = 0;
  Check(cudaStreamBeginCapture(stream, 0), "cudaStreamBeginCapture");
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
  ncclGroupStart();
  ncclSend(data, 16, ncclFloat32, (Rank() + 1) % Size(), comm, stream);
  ncclRecv(data, 16, ncclFloat32, (Rank() + Size() - 1) % Size(), comm, stream);
  ncclGroupEnd();
  Check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  Check(cudaGraphGetNodes(graph, NULL, &nodes), "cudaGraphGetNodes");
  Check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
  Report("nodes", (double)nodes);
  return made;
}

int main(void) {
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExec_t step = Record(comm, data, stream);
  for (int i = 0; i < 20; ++i) {
    Check(cudaGraphLaunch(step, stream), "cudaGraphLaunch");
    cudaStreamSynchronize(stream);
  }
#ifdef FAULT
  if (Rank() != 2)
#endif
    ncclAllReduce(data, data, 16, ncclFloat32, ncclMax, comm, stream);  // @waiting
  for (int i = 0; i < 2; ++i) {
    ncclReduceScatter(data, data, 1, ncclFloat32, ncclMax, comm, stream);  // @culprit
  }
  cudaStreamSynchronize(stream);
  Report("max", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
