// Two processes, with a thread for each of their two devices, like PyTorch's DataParallel and XLA.
// The thread of rank 2, the first device of the second process, never calls the third reduction.
//
// rollcall-test: ranks=2 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=2 waiting=0,1,3 op=ncclAllReduce seq=3
// expect+: certainty=likely,suspected
// expect+: analyze-certainty=likely,suspected lines=none
#include <pthread.h>

#include "nccl_devices.h"

static struct Devices g_devices;

static void* Train(void* which) {
  const int i = (int)(size_t)which;
  cudaSetDevice(i);
  for (int step = 0; step < 4; ++step) {
#ifdef FAULT
    if (step == 2 && Rank() == 1 && i == 0) pause();
#endif
    // The default stream is each device's own, and so is what is waited for.
    ncclAllReduce(g_devices.data[i], g_devices.data[i], 8, ncclFloat32, ncclMax, g_devices.comms[i],
                  NULL);
    cudaDeviceSynchronize();
  }
  return NULL;
}

int main(void) {
  g_devices = NewDevices(2);
  InitDevices(&g_devices, 0);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, Train, (void*)i);
  for (size_t i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  Report("max", g_devices.data[0][0]);
  return 0;
}
