// For programs whose processes drive several devices each.
#ifndef ROLLCALL_TESTS_FAULTS_NCCL_NCCL_DEVICES_H_
#define ROLLCALL_TESTS_FAULTS_NCCL_NCCL_DEVICES_H_

#include "nccl_fault.h"

enum { kMostDevices = 4 };
struct Devices {
  int count;
  ncclComm_t comms[kMostDevices];
  cudaStream_t streams[kMostDevices];
  float* data[kMostDevices];
};

// Streams and data on devices 0 … count - 1.
static inline struct Devices NewDevices(int count) {
  struct Devices devices;
  memset(&devices, 0, sizeof(devices));
  devices.count = count;
  for (int i = 0; i < count; ++i) {
    Check(cudaSetDevice(i), "cudaSetDevice");
    devices.streams[i] = NewStream();
    devices.data[i] = Floats(1024, 1);
  }
  return devices;
}

// The n-th communicator of the job: of all devices of all processes, in their order.
static inline void InitDevices(struct Devices* devices, int n) {
  Check(ncclGroupStart(), "ncclGroupStart");
  for (int i = 0; i < devices->count; ++i) {
    Check(cudaSetDevice(i), "cudaSetDevice");
    Check(ncclCommInitRank(&devices->comms[i], devices->count * Size(), JobId(n),
                           Rank() * devices->count + i),
          "ncclCommInitRank");
  }
  Check(ncclGroupEnd(), "ncclGroupEnd");
}

static inline void WaitForStreams(struct Devices* devices) {
  for (int i = 0; i < devices->count; ++i) {
    Check(cudaStreamSynchronize(devices->streams[i]), "cudaStreamSynchronize");
  }
}

static inline void WaitForAll(struct Devices* devices) {
  for (int i = 0; i < devices->count; ++i) {
    Check(cudaSetDevice(i), "cudaSetDevice");
    Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
}

#endif  // ROLLCALL_TESTS_FAULTS_NCCL_NCCL_DEVICES_H_
