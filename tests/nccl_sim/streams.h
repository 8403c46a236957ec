// SPDX-License-Identifier: Apache-2.0
// The devices of the CUDA stand-ins: streams, events, captures and graphs. What libcudart's and
// libcuda's names (cuda_sim.cc, driver_sim.cc) have in common; libcuda.so.1 holds it. The two call
// it by these names and not by each other's, as the real libraries do: nothing between them can be
// interposed. All functions: any thread.
#ifndef ROLLCALL_TESTS_NCCL_SIM_STREAMS_H_
#define ROLLCALL_TESTS_NCCL_SIM_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace cuda_sim {

// cudaError_t and CUresult have these numbers in common.
enum Result : int {
  kOk = 0,
  kInvalidValue = 1,
  kInvalidDevice = 101,
  kNotReady = 600,
  kNotSupported = 801,
  kCaptureUnsupported = 900,  // a forbidden call, which makes the capture invalid
  kCaptureInvalidated = 901,
};

using Job = std::function<void()>;
// Makes the job when it goes to the stream: at once, or each time a graph that holds it is
// launched.
using Maker = std::function<Job()>;

// Devices are numbers; each thread has a current one.
inline constexpr int kDevices = 8;
int SetDevice(int device);
int CurrentDevice();
int DeviceOf(void* stream);

// Streams, by their handle; 0 is the current device's legacy default stream, 2 the calling thread's
// own one there. They live as long as the process, which may end while one is stuck.
inline void* const kPerThreadStream = reinterpret_cast<void*>(2);  // NOLINT
void* NewStream();
int Enqueue(void* stream, Maker maker);
int Synchronize(void* stream);
int Query(void* stream);
int SynchronizeDevice();

// Events, by their handle.
int Record(void* event, void* stream);
int WaitFor(void* stream, void* event);
int SynchronizeEvent(void* event);
int QueryEvent(void* event);
void Forget(void* event);

// Captures. Modes: 0 global, 1 thread-local, 2 relaxed. While one is under way, what the
// documentation of cudaThreadExchangeStreamCaptureMode calls potentially unsafe is refused, and
// makes it invalid: by Forbidden(), which such functions ask.
int BeginCapture(void* stream, int mode);
int EndCapture(void* stream, void** graph);
int CaptureStatus(void* stream);  // 0 none, 1 active, 2 invalidated
int ExchangeThreadMode(int mode);
bool Forbidden();

size_t NodesOf(void* graph);
int Launch(void* graph, void* stream);

// Whether CUDA_SIM_FAIL names `what`: the switch by which a call fails.
bool ToldToFail(const char* what);

}  // namespace cuda_sim

#endif  // ROLLCALL_TESTS_NCCL_SIM_STREAMS_H_
