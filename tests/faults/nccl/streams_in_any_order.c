// A true negative: two communicators, each on a stream of its own, which rank 2 uses in the other
// order: streams do not wait for each other, so that this is right, and the devices only take their
// time.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/faults/nccl/nccl_fault.h"

static void TakeTime(void* unused) {
  (void)unused;
  usleep(700 * 1000);
}

int main(void) {
  ncclComm_t comms[2] = {InitComm(0), InitComm(1)};
  cudaStream_t streams[2] = {NewStream(), NewStream()};
  float* data[2] = {Floats(16, 1), Floats(16, 1)};
  const int first = Rank() == 2;
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 2; ++i) {
      const int which = i ^ first;
      if (step > 0) cudaLaunchHostFunc(streams[which], TakeTime, NULL);
      ncclAllReduce(data[which], data[which], 16, ncclFloat32, ncclMax, comms[which],
                    streams[which]);
    }
    // First each for the one that it called first, then for both.
    if (step < 2) cudaStreamSynchronize(streams[first]);
    cudaDeviceSynchronize();
  }
  Report("max", data[0][0]);
  ncclCommDestroy(comms[0]);
  ncclCommDestroy(comms[1]);
  return 0;
}
