// A true negative: halves by split, messages in groups on a second stream, an event between the
// streams, a rank that is slow, and communicators that are never destroyed. All of it is right.
//
// rollcall-test: ranks=4
// expect: none
#include "tests/faults/nccl/nccl_fault.h"

int main(void) {
  ncclComm_t world = InitComm(0);
  ncclComm_t half = NULL;
  Check(ncclCommSplit(world, Rank() % 2, Rank(), &half, NULL), "ncclCommSplit");
  cudaStream_t compute = NewStream();
  cudaStream_t copies = NewStream();
  cudaEvent_t ready = NULL;
  Check(cudaEventCreate(&ready), "cudaEventCreate");
  float* data = Floats(1024, 1);
  const int next = (Rank() + 1) % Size();
  const int previous = (Rank() + Size() - 1) % Size();
  for (int step = 0; step < 20; ++step) {
    if (step == 10 && Rank() == 3) usleep(700000);
    ncclAllReduce(data, data, 8, ncclFloat32, ncclMax, half, compute);
    cudaEventRecord(ready, compute);
    cudaStreamWaitEvent(copies, ready, 0);
    ncclGroupStart();
    ncclSend(data, 8, ncclFloat32, next, world, copies);
    ncclRecv(data + 8, 8, ncclFloat32, previous, world, copies);
    ncclGroupEnd();
    if (step % 5 == 0) cudaEventSynchronize(ready);
    cudaStreamSynchronize(copies);
    ncclBroadcast(data, data, 8, ncclFloat32, step % Size(), world, copies);
  }
  cudaDeviceSynchronize();
  Report("value", data[0]);
  return 0;
}
