// A stand-in for libcudart: streams are threads that work off a queue, device memory is host
// memory. A test double: it knows nothing of graphs, contexts or peers, and ships with nothing.
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "tests/nccl_sim/nccl_api.h"

namespace {

constexpr cudaError_t kOk = 0;
constexpr cudaError_t kInvalidValue = 1;
constexpr cudaError_t kNotReady = 600;

class Stream {
 public:
  Stream() {
    std::thread([this] { Work(); }).detach();
  }

  void Add(std::function<void()> job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
    ++added_;
    changed_.notify_all();
  }
  uint64_t added() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return added_;
  }
  bool IsDone(uint64_t until) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return done_ >= until;
  }
  void Wait(uint64_t until) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= until; });
  }

 private:
  [[noreturn]] void Work() {
    while (true) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !jobs_.empty(); });
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
      const std::lock_guard<std::mutex> lock(mutex_);
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  uint64_t added_ = 0;
  uint64_t done_ = 0;
};

constexpr int kDevices = 8;
thread_local int t_device = 0;

// Streams and their threads live as long as the process, which may end while one is stuck.
struct Device {
  std::mutex mutex;
  std::map<Stream*, int> streams;       // with the device of each
  std::map<int, Stream*> null_streams;  // each device has its own
  struct Mark {
    Stream* stream;
    uint64_t until;
  };
  std::map<cudaEvent_t, Mark> events;
};
Device& TheDevice() {
  static auto* device = new Device;
  return *device;
}

Stream* Of(cudaStream_t handle) {
  if (handle != nullptr) return reinterpret_cast<Stream*>(handle);
  Device& device = TheDevice();
  const std::lock_guard<std::mutex> lock(device.mutex);
  Stream*& null_stream = device.null_streams[t_device];
  if (null_stream == nullptr) device.streams[null_stream = new Stream] = t_device;
  return null_stream;
}

Device::Mark MarkOf(cudaEvent_t event) {
  Device& device = TheDevice();
  const std::lock_guard<std::mutex> lock(device.mutex);
  const auto found = device.events.find(event);
  return found == device.events.end() ? Device::Mark{nullptr, 0} : found->second;
}

}  // namespace

extern "C" {

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return 101;  // cudaErrorInvalidDevice
  t_device = device;
  return kOk;
}
cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return kOk;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return kOk;
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
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
  auto* made = new Stream;
  Device& device = TheDevice();
  const std::lock_guard<std::mutex> lock(device.mutex);
  device.streams[made] = t_device;
  *stream = reinterpret_cast<cudaStream_t>(made);
  return kOk;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return kOk; }
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  Stream* stream = Of(handle);
  stream->Wait(stream->added());
  return kOk;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Stream* stream = Of(handle);
  return stream->IsDone(stream->added()) ? kOk : kNotReady;
}
cudaError_t cudaDeviceSynchronize(void) {
  std::map<Stream*, int> streams;
  {
    Device& device = TheDevice();
    const std::lock_guard<std::mutex> lock(device.mutex);
    streams = device.streams;
  }
  for (const auto& [stream, device] : streams) {
    if (device == t_device) stream->Wait(stream->added());
  }
  return kOk;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Device::Mark mark = MarkOf(event);
  if (mark.stream != nullptr) Of(stream)->Add([mark] { mark.stream->Wait(mark.until); });
  return kOk;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = static_cast<cudaEvent_t>(malloc(1));
  return kOk;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  Device& device = TheDevice();
  const std::lock_guard<std::mutex> lock(device.mutex);
  device.events.erase(event);
  free(event);
  return kOk;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  Stream* stream = Of(handle);
  const uint64_t until = stream->added();
  Device& device = TheDevice();
  const std::lock_guard<std::mutex> lock(device.mutex);
  device.events[event] = {stream, until};
  return kOk;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Device::Mark mark = MarkOf(event);
  if (mark.stream != nullptr) mark.stream->Wait(mark.until);
  return kOk;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Device::Mark mark = MarkOf(event);
  return mark.stream == nullptr || mark.stream->IsDone(mark.until) ? kOk : kNotReady;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* data) {
  if (function == nullptr) return kInvalidValue;
  Of(stream)->Add([function, data] { function(data); });
  return kOk;
}

}  // extern "C"
