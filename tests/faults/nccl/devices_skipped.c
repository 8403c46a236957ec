// One process drives three devices from one thread (ncclCommInitAll). In the third step it skips
// the reduction on device 1: the other two wait in it, and their host for them.
//
// rollcall-test: ranks=1 outcome=hung
// expect: kind=rank-conditional-collective culprits=1 waiting=0,2 op=ncclAllReduce seq=5
// expect+: certainty=proven,likely
#include "nccl_devices.h"

static void Reduce(struct Devices* devices, int step) {
  Check(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < devices->count; ++i) {
#ifdef FAULT
    if (step == 2 && i == 1) continue;
#endif
    ncclAllReduce(devices->data[i], devices->data[i], 8, ncclFloat32, ncclMax,  // @waiting
                  devices->comms[i], devices->streams[i]);
  }
  Check(ncclGroupEnd(), "ncclGroupEnd");
  (void)step;
}

static void Gather(struct Devices* devices) {
  Check(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < devices->count; ++i) {
    ncclAllGather(devices->data[i], devices->data[i] + 16, 4, ncclFloat32,  // @culprit
                  devices->comms[i], devices->streams[i]);
  }
  Check(ncclGroupEnd(), "ncclGroupEnd");
}

int main(void) {
  struct Devices devices = NewDevices(3);
  Check(ncclCommInitAll(devices.comms, devices.count, NULL), "ncclCommInitAll");
  for (int step = 0; step < 4; ++step) {
    Reduce(&devices, step);
    Gather(&devices);
    WaitForStreams(&devices);
  }
  Report("max", devices.data[0][0]);
  return 0;
}
