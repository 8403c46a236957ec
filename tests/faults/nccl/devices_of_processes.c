// A true negative: two processes of two devices; a communicator of all, one of each process and one
// of each second device by splits; messages between devices of one process and to the next; one
// process waits for its devices in turn, the other for whatever is current. All of it is right.
//
// rollcall-test: ranks=2
// expect: none
#include "nccl_devices.h"

static void Split(struct Devices* devices, ncclComm_t* made, int by_process) {
  Check(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < devices->count; ++i) {
    Check(ncclCommSplit(devices->comms[i], by_process ? Rank() : i, 0, &made[i], NULL), "split");
  }
  Check(ncclGroupEnd(), "ncclGroupEnd");
}

int main(void) {
  struct Devices devices = NewDevices(2);
  ncclComm_t here[2], across[2];
  InitDevices(&devices, 0);
  Split(&devices, here, 1);
  Split(&devices, across, 0);
  const int size = devices.count * Size();
  for (int step = 0; step < 10; ++step) {
    if (step == 5 && Rank() == 1) usleep(700000);
    for (int i = 0; i < devices.count; ++i) {
      ncclAllReduce(devices.data[i], devices.data[i], 8, ncclFloat32, ncclMax, across[i],
                    devices.streams[i]);
    }
    Check(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < devices.count; ++i) {
      const int rank = Rank() * devices.count + i;
      ncclAllReduce(devices.data[i], devices.data[i], 8, ncclFloat32, ncclMax, here[i],
                    devices.streams[i]);
      ncclSend(devices.data[i], 8, ncclFloat32, (rank + 1) % size, devices.comms[i],
               devices.streams[i]);
      ncclRecv(devices.data[i] + 8, 8, ncclFloat32, (rank + size - 1) % size, devices.comms[i],
               devices.streams[i]);
    }
    Check(ncclGroupEnd(), "ncclGroupEnd");
    for (int i = 0; i < devices.count; ++i) {
      cudaSetDevice(i);
      ncclBroadcast(devices.data[i], devices.data[i], 8, ncclFloat32, step % size, devices.comms[i],
                    NULL);
    }
    if (Rank() == 0) WaitForAll(&devices);
    if (Rank() == 1) WaitForStreams(&devices);
  }
  WaitForAll(&devices);
  Report("value", devices.data[0][0]);
  return 0;
}
