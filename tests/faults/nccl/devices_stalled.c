// Two processes of two devices each, initialised in one group. The stream of rank 3, the second
// device of the second process, stops after a reduction that all others have completed.
//
// rollcall-test: ranks=2 outcome=hung stall-after=2
// expect: kind=gpu-stalled culprits=3 waiting=any op=ncclAllReduce seq=1
// expect+: certainty=suspected lines=none
#include "nccl_devices.h"

#ifdef FAULT
static void NeverEnds(void* data) {
  (void)data;
  pause();
}
#endif

int main(void) {
  struct Devices devices = NewDevices(2);
  InitDevices(&devices, 0);
  for (int step = 0; step < 2; ++step) {
    Check(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < devices.count; ++i) {
      ncclAllReduce(devices.data[i], devices.data[i], 8, ncclFloat32, ncclMax, devices.comms[i],
                    devices.streams[i]);
    }
    Check(ncclGroupEnd(), "ncclGroupEnd");
#ifdef FAULT
    if (Rank() == 1) cudaLaunchHostFunc(devices.streams[1], NeverEnds, NULL);
#endif
    WaitForStreams(&devices);
  }
  Report("max", devices.data[0][0]);
  return 0;
}
