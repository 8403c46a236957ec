// The device of rank 1 stops inside a reduction that all others complete. No host waits for its
// device in a call: each polls a word that the stream writes. Only the marks of devices show it.
//
// rollcall-test: ranks=3 outcome=hung stall-after=1 gpu=marks
// expect: kind=gpu-stalled culprits=1 waiting=0,2 op=ncclAllReduce seq=2
// expect+: certainty=likely
#include <stdatomic.h>

#include "tests/faults/nccl/nccl_fault.h"

static atomic_int steps_done;

static void CountStep(void* data) {
  (void)data;
  atomic_fetch_add(&steps_done, 1);
}

int main(void) {
#ifdef FAULT
  if (Rank() == 1) setenv("NCCL_SIM_STALL_IN", "2", 1);
#endif
  ncclComm_t comm = InitComm(0);
  cudaStream_t stream = NewStream();
  float* data = Floats(16, 1);
  for (int step = 0; step < 3; ++step) {
    ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, stream);  // @waiting
    cudaLaunchHostFunc(stream, CountStep, NULL);
    while (atomic_load(&steps_done) <= step) usleep(1000);
  }
  Report("sum", data[0]);
  ncclCommDestroy(comm);
  return 0;
}
