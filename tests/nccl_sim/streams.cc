// SPDX-License-Identifier: Apache-2.0
#include "tests/nccl_sim/streams.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace cuda_sim {
namespace {

using Graph = std::vector<Maker>;

struct Capture {
  std::thread::id thread;
  int mode = 0;
  bool valid = true;
  Graph nodes;
};

class Stream {
 public:
  Stream() {
    std::thread([this] { Work(); }).detach();
  }

  void Add(Job job) {
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
      Job job;
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
  std::deque<Job> jobs_;
  uint64_t added_ = 0;
  uint64_t done_ = 0;
};

struct Place {
  Stream* stream = nullptr;
  uint64_t until = 0;
};

struct World {
  std::mutex mutex;
  std::map<Stream*, int> streams;       // with the device of each
  std::map<int, Stream*> null_streams;  // each device has its own
  std::map<void*, Place> events;
  std::map<Stream*, Capture> captures;
};
World& TheWorld() {
  static auto* world = new World;
  return *world;
}
using Lock = std::lock_guard<std::mutex>;

thread_local int t_device = 0;
thread_local std::map<int, Stream*> t_own_streams;  // by device
thread_local int t_mode = 0;

Stream* Of(void* handle) {
  const bool own = handle == kPerThreadStream;
  if (handle != nullptr && !own) return static_cast<Stream*>(handle);
  World& world = TheWorld();
  const Lock lock(world.mutex);
  Stream*& stream = own ? t_own_streams[t_device] : world.null_streams[t_device];
  if (stream == nullptr) world.streams[stream = new Stream] = t_device;
  return stream;
}

Place PlaceOf(void* event) {
  World& world = TheWorld();
  const Lock lock(world.mutex);
  const auto found = world.events.find(event);
  return found == world.events.end() ? Place{} : found->second;
}

// Those that `thread_mode` keeps this thread from disturbing.
bool Disturbs(const Capture& capture, int thread_mode) {
  if (thread_mode == 2) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != 2;
  return thread_mode == 0 && capture.mode == 0;
}

}  // namespace

int SetDevice(int device) {
  if (device < 0 || device >= kDevices) return kInvalidDevice;
  t_device = device;
  return kOk;
}

int CurrentDevice() { return t_device; }

int DeviceOf(void* stream) {
  World& world = TheWorld();
  const Lock lock(world.mutex);
  const auto found = world.streams.find(static_cast<Stream*>(stream));
  return found == world.streams.end() ? t_device : found->second;
}

void* NewStream() {
  auto* made = new Stream;
  World& world = TheWorld();
  const Lock lock(world.mutex);
  world.streams[made] = t_device;
  return made;
}

int Enqueue(void* handle, Maker maker) {
  Stream* stream = Of(handle);
  {
    World& world = TheWorld();
    const Lock lock(world.mutex);
    const auto capture = world.captures.find(stream);
    if (capture != world.captures.end()) {
      if (!capture->second.valid) return kCaptureInvalidated;
      capture->second.nodes.push_back(std::move(maker));
      return kOk;
    }
  }
  stream->Add(maker());
  return kOk;
}

int Synchronize(void* handle) {
  if (Forbidden()) return kCaptureUnsupported;
  Stream* stream = Of(handle);
  stream->Wait(stream->added());
  return kOk;
}

int Query(void* handle) {
  if (Forbidden()) return kCaptureUnsupported;
  Stream* stream = Of(handle);
  return stream->IsDone(stream->added()) ? kOk : kNotReady;
}

int SynchronizeDevice() {
  if (Forbidden()) return kCaptureUnsupported;
  std::map<Stream*, int> streams;
  {
    World& world = TheWorld();
    const Lock lock(world.mutex);
    streams = world.streams;
  }
  for (const auto& [stream, device] : streams) {
    if (device == t_device) stream->Wait(stream->added());
  }
  return kOk;
}

int Record(void* event, void* handle) {
  Stream* stream = Of(handle);
  const uint64_t until = stream->added();
  World& world = TheWorld();
  const Lock lock(world.mutex);
  world.events[event] = {stream, until};
  return kOk;
}

int WaitFor(void* stream, void* event) {
  const Place place = PlaceOf(event);
  if (place.stream == nullptr) return kOk;
  return Enqueue(stream, [place] { return [place] { place.stream->Wait(place.until); }; });
}

int SynchronizeEvent(void* event) {
  if (Forbidden()) return kCaptureUnsupported;
  const Place place = PlaceOf(event);
  if (place.stream != nullptr) place.stream->Wait(place.until);
  return kOk;
}

int QueryEvent(void* event) {
  if (Forbidden()) return kCaptureUnsupported;
  const Place place = PlaceOf(event);
  return place.stream == nullptr || place.stream->IsDone(place.until) ? kOk : kNotReady;
}

void Forget(void* event) {
  World& world = TheWorld();
  const Lock lock(world.mutex);
  world.events.erase(event);
}

int BeginCapture(void* handle, int mode) {
  if (handle == nullptr) return kCaptureUnsupported;  // the legacy stream cannot be captured
  World& world = TheWorld();
  const Lock lock(world.mutex);
  world.captures[Of(handle)] = {std::this_thread::get_id(), mode, true, {}};
  return kOk;
}

int EndCapture(void* handle, void** graph) {
  *graph = nullptr;
  World& world = TheWorld();
  const Lock lock(world.mutex);
  const auto capture = world.captures.find(static_cast<Stream*>(handle));
  if (capture == world.captures.end()) return kInvalidValue;
  const bool valid = capture->second.valid;
  if (valid) *graph = new Graph(std::move(capture->second.nodes));
  world.captures.erase(capture);
  return valid ? kOk : kCaptureInvalidated;
}

int CaptureStatus(void* handle) {
  World& world = TheWorld();
  const Lock lock(world.mutex);
  const auto capture = world.captures.find(static_cast<Stream*>(handle));
  if (handle == nullptr || capture == world.captures.end()) return 0;
  return capture->second.valid ? 1 : 2;
}

int ExchangeThreadMode(int mode) { return std::exchange(t_mode, mode); }

bool Forbidden() {
  World& world = TheWorld();
  const Lock lock(world.mutex);
  bool forbidden = false;
  for (auto& [stream, capture] : world.captures) {
    if (!Disturbs(capture, t_mode)) continue;
    capture.valid = false;
    forbidden = true;
  }
  return forbidden;
}

size_t NodesOf(void* graph) { return static_cast<Graph*>(graph)->size(); }

int Launch(void* graph, void* stream) {
  for (const Maker& maker : *static_cast<Graph*>(graph)) {
    const int result = Enqueue(stream, maker);
    if (result != kOk) return result;
  }
  return kOk;
}

bool ToldToFail(const char* what) {
  const char* told = getenv("CUDA_SIM_FAIL");
  return told != nullptr && strcmp(told, what) == 0;
}

}  // namespace cuda_sim
