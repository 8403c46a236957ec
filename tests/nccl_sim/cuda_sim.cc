// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcudart over streams.h: device memory is host memory. A test double: it knows
// nothing of peers, and ships with nothing.
#include <cstdlib>
#include <cstring>

#include "tests/nccl_sim/nccl_api.h"
#include "tests/nccl_sim/streams.h"

using cuda_sim::kInvalidValue;
using cuda_sim::kOk;

extern "C" {

cudaError_t cudaSetDevice(int device) { return cuda_sim::SetDevice(device); }
cudaError_t cudaGetDevice(int* device) {
  *device = cuda_sim::CurrentDevice();
  return kOk;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = cuda_sim::kDevices;
  return kOk;
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (cuda_sim::Forbidden()) return cuda_sim::kCaptureUnsupported;
  *memory = calloc(1, bytes);
  return *memory != nullptr ? kOk : 2;
}
cudaError_t cudaFree(void* memory) {
  free(memory);
  return kOk;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  memcpy(to, from, bytes);
  return kOk;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(cuda_sim::NewStream());
  return kOk;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return kOk; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return cuda_sim::Synchronize(stream); }
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return cuda_sim::Synchronize(stream == nullptr ? cuda_sim::kPerThreadStream : stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cuda_sim::Query(stream); }
cudaError_t cudaDeviceSynchronize(void) { return cuda_sim::SynchronizeDevice(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return cuda_sim::WaitFor(stream, event);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = static_cast<cudaEvent_t>(malloc(1));
  return kOk;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  cuda_sim::Forget(event);
  free(event);
  return kOk;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cuda_sim::Record(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cuda_sim::SynchronizeEvent(event); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return cuda_sim::QueryEvent(event); }
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data) {
  if (function == nullptr) return kInvalidValue;
  return cuda_sim::Enqueue(stream, [=] { return [=] { function(data); }; });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  return cuda_sim::BeginCapture(stream, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return cuda_sim::EndCapture(stream, reinterpret_cast<void**>(graph));
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, void*, size_t* count) {
  *count = cuda_sim::NodesOf(graph);
  return kOk;
}
// An executable graph is the graph itself.
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = reinterpret_cast<cudaGraphExec_t>(graph);
  return kOk;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return cuda_sim::Launch(graph, stream);
}

}  // extern "C"
