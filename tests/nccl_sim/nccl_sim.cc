// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnccl: ranks are processes (or threads) that move real bytes through shared
// memory. Calls enqueue on a stream of the CUDA stand-in and return; where ranks disagree the
// stream blocks, as README.md says, and whatever was enqueued behind it. A test double that ships
// with nothing.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/nccl_sim/log_sim.h"
#include "tests/nccl_sim/nccl_api.h"
#include "tests/nccl_sim/profiler_sim.h"
#include "tests/nccl_sim/segment.h"
#include "tests/nccl_sim/streams.h"

using nccl_sim::Call;
using nccl_sim::Channel;
using nccl_sim::RankPart;
using nccl_sim::Segment;
namespace profiler = nccl_sim::profiler;

struct ncclComm {
  std::string name;
  Segment* segment = nullptr;
  int nranks = 0;
  int rank = 0;
  int device = 0;
  uint64_t collectives = 0;  // called
  uint64_t splits = 0;
  uint64_t shrinks = 0;
  uint64_t grows = 0;
  bool blocking = true;
  std::atomic<int> state{ncclSuccess};  // of one that does not block
  std::atomic<bool> aborted{false};
  std::shared_ptr<profiler::Comm> profiler;
};

namespace {

enum Operation { kAllReduce = 1, kReduce, kBroadcast, kAllGather, kReduceScatter };
constexpr const char* kFunctions[] = {"",          "AllReduce", "Reduce",
                                      "Broadcast", "AllGather", "ReduceScatter"};

// Between two looks at what others do. The longer it takes the longer, so that the many ranks of a
// hung job leave the processors to others, as devices do.
class Pauses {
 public:
  void Next() {
    std::this_thread::sleep_for(next_);
    next_ = std::min(next_ * 5 / 4, std::chrono::microseconds(10'000));
  }

 private:
  std::chrono::microseconds next_{100};
};

size_t BytesOf(ncclDataType_t type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
  return kBytes[type];
}

template <typename T>
void ReduceInto(char* into, const char* from, size_t bytes, ncclRedOp_t op) {
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T a, b;
    memcpy(&a, into + i, sizeof(T));
    memcpy(&b, from + i, sizeof(T));
    if (op == ncclProd) a = static_cast<T>(a * b);
    if (op == ncclMax) a = a < b ? b : a;
    if (op == ncclMin) a = b < a ? b : a;
    if (op == ncclSum || op == ncclAvg) a = static_cast<T>(a + b);
    memcpy(into + i, &a, sizeof(T));
  }
}

void Reduce(char* into, const char* from, size_t bytes, ncclDataType_t type, ncclRedOp_t op) {
  if (type == ncclFloat32) return ReduceInto<float>(into, from, bytes, op);
  if (type == ncclFloat64) return ReduceInto<double>(into, from, bytes, op);
  if (type == ncclInt32 || type == ncclUint32) return ReduceInto<int32_t>(into, from, bytes, op);
  if (type == ncclInt64 || type == ncclUint64) return ReduceInto<int64_t>(into, from, bytes, op);
  ReduceInto<int8_t>(into, from, bytes, op);
}

// NCCL_SIM_STALL_IN=n: the device stops in its n-th collective, with all that the others need of it
// handed out.
bool StallsBehind(uint64_t number) {
  const char* told = getenv("NCCL_SIM_STALL_IN");
  return told != nullptr && strtoull(told, nullptr, 10) == number;
}

// One operation on the device: asked again and again until it says that it is done.
using Step = std::function<bool()>;
struct Making {
  std::function<Step()> make;
  std::shared_ptr<profiler::Task> task;
};

struct Collective {
  ncclComm* comm;
  uint64_t number;
  Call call;
  ncclDataType_t type;
  ncclRedOp_t op;
  const char* send;
  size_t send_bytes;
  char* recv;
  bool written = false;
  bool finished = false;

  RankPart& Part(int rank) const { return comm->segment->ranks[rank]; }

  bool All(std::atomic<uint64_t> RankPart::*word, uint64_t least) const {
    for (int rank = 0; rank < comm->nranks; ++rank) {
      if ((Part(rank).*word).load(std::memory_order_acquire) < least) return false;
    }
    return true;
  }

  bool Agree() const {
    for (int rank = 0; rank < comm->nranks; ++rank) {
      const Call& other = Part(rank).call;
      if (other.operation != call.operation || other.root != call.root ||
          other.bytes != call.bytes) {
        return false;
      }
    }
    return true;
  }

  void Finish() const {
    const size_t bytes = call.bytes;
    const bool is_root = call.root == comm->rank;
    if (call.operation == kBroadcast) {
      memcpy(recv, Part(call.root).data, bytes);
    } else if (call.operation == kAllGather) {
      for (int rank = 0; rank < comm->nranks; ++rank) {
        memcpy(recv + static_cast<size_t>(rank) * bytes, Part(rank).data, bytes);
      }
    } else if (call.operation != kReduce || is_root) {
      const size_t at =
          call.operation == kReduceScatter ? static_cast<size_t>(comm->rank) * bytes : 0;
      std::vector<char> result(Part(0).data + at, Part(0).data + at + bytes);
      for (int rank = 1; rank < comm->nranks; ++rank) {
        Reduce(result.data(), Part(rank).data + at, bytes, type, op);
      }
      memcpy(recv, result.data(), bytes);
    }
  }

  // Nobody overwrites its part before all have read the last one.
  bool operator()() {
    if (comm->aborted) return true;
    RankPart& mine = Part(comm->rank);
    if (!written) {
      if (!All(&RankPart::read, number - 1)) return false;
      mine.call = call;
      memcpy(mine.data, send, send_bytes);
      mine.arrived.store(number, std::memory_order_release);
      written = true;
    }
    if (!All(&RankPart::arrived, number) || !Agree()) return false;
    if (!finished) {
      Finish();
      mine.read.store(number, std::memory_order_release);
      finished = true;
    }
    return !StallsBehind(number);
  }
};

struct Message {
  ncclComm* comm;
  bool sends;
  int peer;
  char* data;
  size_t bytes;
  bool handed_over = false;

  bool operator()() {
    if (comm->aborted) return true;
    Channel& channel = sends ? comm->segment->channels[comm->rank][peer]
                             : comm->segment->channels[peer][comm->rank];
    const uint64_t sent = channel.sent.load(std::memory_order_acquire);
    const uint64_t received = channel.received.load(std::memory_order_acquire);
    if (!sends) {
      if (sent == received || channel.bytes != bytes) return false;
      memcpy(data, channel.data, bytes);
      channel.received.store(received + 1, std::memory_order_release);
      return true;
    }
    if (handed_over) return sent == received;
    if (sent != received) return false;
    channel.bytes = bytes;
    memcpy(channel.data, data, bytes);
    channel.sent.store(sent + 1, std::memory_order_release);
    handed_over = true;
    return false;
  }
};

class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// --- Groups --------------------------------------------------------------------------------------

struct Group {
  int depth = 0;
  // By device and stream: the default stream is each device's own.
  std::map<std::pair<int, cudaStream_t>, std::vector<Making>> steps;
  std::set<ncclComm_t> later;        // do not block
  std::vector<ncclComm_t> numbered;  // for each collective that was called
  std::vector<std::function<ncclResult_t()>> creations;
};
thread_local Group t_group;

// A copy of `step` as it goes to the device: a collective that a graph recorded has its number from
// the graph's launch.
template <typename T>
Step Begin(T step) {
  if constexpr (std::is_same_v<T, Collective>) {
    if (step.number == 0) step.number = ++step.comm->collectives;
  }
  return step;
}

// The same step, with what the profiler hears of it.
Step Watched(Step step, const std::shared_ptr<profiler::Task>& task) {
  if (task == nullptr) return step;
  return [step, task, begun = false]() mutable {
    if (!begun) profiler::KernelStarts(task);
    begun = true;
    if (!step()) return false;
    profiler::KernelStops(task);
    return true;
  };
}

profiler::Tasks TasksOf(const std::vector<Making>& makings) {
  profiler::Tasks tasks;
  for (const Making& making : makings) tasks.push_back(making.task);
  return tasks;
}

// Asks all of them again and again until they are done.
void Run(std::vector<Step> steps) {
  Pauses pauses;
  while (!steps.empty()) {
    steps.erase(std::remove_if(steps.begin(), steps.end(), [](Step& step) { return step(); }),
                steps.end());
    if (!steps.empty()) pauses.Next();
  }
}

using Launches = std::map<std::pair<int, cudaStream_t>, std::vector<Making>>;

void LaunchAll(const Launches& launches) {
  for (const auto& [at, makings] : launches) {
    const OnDevice on(at.first);
    const bool captured = cuda_sim::CaptureStatus(at.second) != 0;
    if (!captured) profiler::Launched(TasksOf(makings));
    cuda_sim::Enqueue(at.second, [makings = makings, captured]() -> cuda_sim::Job {
      std::vector<Step> steps;
      for (const Making& making : makings) steps.push_back(Watched(making.make(), making.task));
      return [steps, makings, captured] {
        if (captured) profiler::Replayed(TasksOf(makings));
        Run(steps);
      };
    });
  }
}

// Of communicators that do not block: a thread does it, later than the caller expects.
ncclResult_t LaunchLater(Launches launches, const std::set<ncclComm_t>& comms) {
  for (ncclComm_t comm : comms) comm->state = ncclInProgress;
  std::thread([launches = std::move(launches), comms] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    LaunchAll(launches);
    for (ncclComm_t comm : comms) comm->state = ncclSuccess;
  }).detach();
  return ncclInProgress;
}

template <typename T>
ncclResult_t Enqueue(ncclComm_t comm, const profiler::Called& called, T step) {
  if (comm->state != ncclSuccess) return ncclInvalidArgument;
  const cudaStream_t stream = called.stream;
  const Making making{[step] { return Begin(step); },
                      profiler::Call(comm->profiler, called, t_group.depth + 1)};
  if (t_group.depth > 0) {
    t_group.steps[{comm->device, stream}].push_back(making);
    if (!comm->blocking) t_group.later.insert(comm);
    return ncclSuccess;
  }
  Launches one;
  one[{comm->device, stream}].push_back(making);
  profiler::GroupEnds();
  ncclResult_t result = ncclSuccess;
  if (comm->blocking) {
    LaunchAll(one);
  } else {
    result = LaunchLater(std::move(one), {comm});
  }
  profiler::GroupEnded();
  return result;
}

ncclResult_t Create(std::function<ncclResult_t()> creation) {
  if (t_group.depth == 0) return creation();
  t_group.creations.push_back(std::move(creation));
  return ncclSuccess;
}

// --- Communicators -------------------------------------------------------------------------------

// Waits for as many as this rank was told of: with another number on another rank, for ever.
ncclResult_t Enter(ncclComm_t comm, const std::string& name, int nranks, int rank, int device) {
  if (nranks < 1 || nranks > nccl_sim::kMaxRanks || rank < 0 || rank >= nranks) {
    return ncclInvalidArgument;
  }
  comm->name = name;
  comm->nranks = nranks;
  comm->rank = rank;
  comm->device = device;
  comm->segment = nccl_sim::Open(name);
  if (comm->segment == nullptr) return ncclSystemError;
  comm->segment->ranks[rank].joined.store(nranks);
  Pauses pauses;
  for (int other = 0; other < nranks;) {
    if (comm->segment->ranks[other].joined.load() == nranks) {
      ++other;
    } else {
      pauses.Next();
    }
  }
  if (rank == 0) nccl_sim::Remove(name);
  comm->profiler = profiler::Init(name, nranks, rank);
  nccl_sim::LogInit(comm, rank, nranks, device, name);
  return ncclSuccess;
}

ncclResult_t Join(const std::string& name, int nranks, int rank, int device, ncclComm_t* out) {
  auto* comm = new ncclComm;
  const ncclResult_t result = Enter(comm, name, nranks, rank, device);
  if (result != ncclSuccess) {
    delete comm;
    return result;
  }
  *out = comm;
  return ncclSuccess;
}

ncclResult_t Split(ncclComm_t comm, int color, int key, ncclComm_t* made) {
  const uint64_t number = ++comm->splits;
  RankPart* parts = comm->segment->ranks;
  const auto wait = [&](std::atomic<uint64_t> RankPart::*word, uint64_t least) {
    Pauses pauses;
    for (int rank = 0; rank < comm->nranks; ++rank) {
      while ((parts[rank].*word).load() < least) pauses.Next();
    }
  };
  wait(&RankPart::split_read, number - 1);
  parts[comm->rank].color = color;
  parts[comm->rank].key = key;
  parts[comm->rank].split_arrived.store(number);
  wait(&RankPart::split_arrived, number);
  int size = 0, mine = 0;
  for (int rank = 0; rank < comm->nranks; ++rank) {
    if (parts[rank].color != color) continue;
    ++size;
    const bool before = parts[rank].key < key || (parts[rank].key == key && rank < comm->rank);
    if (before) ++mine;
  }
  parts[comm->rank].split_read.store(number);
  *made = nullptr;
  if (color < 0) return ncclSuccess;
  const std::string name = comm->name + "-" + std::to_string(number) + "-" + std::to_string(color);
  return Join(name, size, mine, comm->device, made);
}

std::string NameOf(const ncclUniqueId& id) { return std::string("/nccl-sim-") + id.internal; }

ncclResult_t Collect(int operation, const void* send, size_t parts, void* recv, size_t count,
                     ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                     cudaStream_t stream) {
  if (comm == nullptr) return ncclInvalidArgument;
  const size_t bytes = count * BytesOf(type);
  if (bytes * parts > nccl_sim::kMaxCollectiveBytes) return ncclInvalidUsage;
  const bool captured = cuda_sim::CaptureStatus(stream) != 0;
  if (t_group.depth > 0 && !captured) t_group.numbered.push_back(comm);
  nccl_sim::LogCall(
      {kFunctions[operation], comm->collectives, send, recv, count, type, op, std::max(root, 0)},
      comm, comm->nranks, comm->device, stream);
  return Enqueue(comm, {kFunctions[operation], false, count, type, root, stream, captured},
                 Collective{comm,
                            captured ? 0 : ++comm->collectives,
                            {operation, root, bytes},
                            type,
                            op,
                            static_cast<const char*>(send),
                            bytes * parts,
                            static_cast<char*>(recv)});
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
ncclResult_t pncclGetVersion(int* version) { return ncclGetVersion(version); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made{0};
  memset(id, 0, sizeof(*id));
  snprintf(
      id->internal, sizeof(id->internal), "%d-%llx-%d", static_cast<int>(getpid()),
      static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count()),
      made++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank) {
  int device = 0;
  cudaGetDevice(&device);
  return Create([=] { return Join(NameOf(id), nranks, rank, device, comm); });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId id, int rank,
                                    void* config) {
  const auto* given = static_cast<const ncclSimConfig*>(config);
  if (given == nullptr || given->blocking != 0) return ncclCommInitRank(comm, nranks, id, rank);
  auto* made = new ncclComm;
  made->blocking = false;
  made->state = ncclInProgress;
  *comm = made;
  int device = 0;
  cudaGetDevice(&device);
  std::thread([=] { made->state = Enter(made, NameOf(id), nranks, rank, device); }).detach();
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  *state = static_cast<ncclResult_t>(comm->state.load());
  return ncclSuccess;
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* made, void*,
                            int flags) {
  const std::set<int> without(excluded, excluded + count);
  std::string name = comm->name + "-shrunk-" + std::to_string(++comm->shrinks);
  for (const int rank : without) name += "-" + std::to_string(rank);
  int mine = comm->rank;
  for (const int rank : without) mine -= rank < comm->rank ? 1 : 0;
  if ((flags & NCCL_SHRINK_ABORT) != 0) comm->aborted = true;
  const int size = comm->nranks - static_cast<int>(without.size());
  return Create([=] { return Join(name, size, mine, comm->device, made); });
}

// The id tells what those call the communicator who have the parent.
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id) {
  const std::string name =
      comm->name.substr(NameOf({}).size()) + "-grown-" + std::to_string(comm->grows + 1);
  memset(id, 0, sizeof(*id));
  snprintf(id->internal, sizeof(id->internal), "%s", name.c_str());
  return ncclSuccess;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId* id, int rank,
                          ncclComm_t* made, void*) {
  int device = 0;
  cudaGetDevice(&device);
  if (comm == nullptr) {
    const std::string name = NameOf(*id);
    return Create([=] { return Join(name, nranks, rank, device, made); });
  }
  const std::string name = comm->name + "-grown-" + std::to_string(++comm->grows);
  return Create([=] { return Join(name, nranks, comm->rank, comm->device, made); });
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int) {
  comm->aborted = true;
  return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclGroupStart();
  for (int i = 0; i < devices; ++i) {
    const OnDevice on(list == nullptr ? i : list[i]);
    ncclCommInitRank(&comms[i], devices, id, i);
  }
  return ncclGroupEnd();
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, void*) {
  return Create([=] { return Split(comm, color, key, made); });
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
// The memory stays: a stream may still read it.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  profiler::Finalize(&comm->profiler);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->aborted = true;
  profiler::Finalize(&comm->profiler);
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->nranks;
  return ncclSuccess;
}
ncclResult_t pncclCommCount(ncclComm_t comm, int* count) { return ncclCommCount(comm, count); }
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  *device = comm->device;
  return ncclSuccess;
}
ncclResult_t pncclCommCuDevice(ncclComm_t comm, int* device) {
  return ncclCommCuDevice(comm, device);
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t pncclCommUserRank(ncclComm_t comm, int* rank) { return ncclCommUserRank(comm, rank); }

ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return Collect(kAllReduce, send, 1, recv, count, type, op, -1, comm, stream);
}
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return Collect(kReduce, send, 1, recv, count, type, op, root, comm, stream);
}
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return Collect(kBroadcast, send, 1, recv, count, type, ncclSum, root, comm, stream);
}
// As in the library: one public function calls another.
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return Collect(kAllGather, send, 1, recv, count, type, ncclSum, -1, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const size_t parts = comm == nullptr ? 1 : static_cast<size_t>(comm->nranks);
  return Collect(kReduceScatter, send, parts, recv, count, type, op, -1, comm, stream);
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  if (peer < 0 || peer >= comm->nranks || count * BytesOf(type) > nccl_sim::kMaxMessageBytes) {
    return ncclInvalidArgument;
  }
  auto* data = static_cast<char*>(const_cast<void*>(send));
  nccl_sim::LogCall({"Send", comm->collectives, send, nullptr, count, type, ncclSum, peer}, comm,
                    comm->nranks, comm->device, stream);
  const bool captured = cuda_sim::CaptureStatus(stream) != 0;
  return Enqueue(comm, {"Send", true, count, type, peer, stream, captured},
                 Message{comm, true, peer, data, count * BytesOf(type)});
}
ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  if (peer < 0 || peer >= comm->nranks || count * BytesOf(type) > nccl_sim::kMaxMessageBytes) {
    return ncclInvalidArgument;
  }
  nccl_sim::LogCall({"Recv", comm->collectives, nullptr, recv, count, type, ncclSum, peer}, comm,
                    comm->nranks, comm->device, stream);
  const bool captured = cuda_sim::CaptureStatus(stream) != 0;
  return Enqueue(comm, {"Recv", true, count, type, peer, stream, captured},
                 Message{comm, false, peer, static_cast<char*>(recv), count * BytesOf(type)});
}

ncclResult_t ncclGroupStart(void) {
  ++t_group.depth;
  return ncclSuccess;
}

// What was called never was.
ncclResult_t ncclGroupSimulateEnd(void*) {
  if (t_group.depth == 0) return ncclInvalidUsage;
  if (--t_group.depth > 0) return ncclSuccess;
  for (ncclComm_t comm : t_group.numbered) --comm->collectives;
  t_group = {};
  profiler::GroupEnds();
  profiler::GroupEnded();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (t_group.depth == 0) return ncclInvalidUsage;
  if (--t_group.depth > 0) return ncclSuccess;
  t_group.numbered.clear();
  // Each in a thread, as the library does: several ranks of one process wait for each other.
  std::vector<std::thread> threads;
  std::atomic<int> result{ncclSuccess};
  for (const auto& creation : t_group.creations) {
    threads.emplace_back([&] {
      const ncclResult_t got = creation();
      if (got != ncclSuccess) result = got;
    });
  }
  for (std::thread& thread : threads) thread.join();
  t_group.creations.clear();
  profiler::GroupEnds();
  Launches launches = std::move(t_group.steps);
  const std::set<ncclComm_t> later = std::move(t_group.later);
  t_group.steps.clear();
  t_group.later.clear();
  if (later.empty()) {
    LaunchAll(launches);
  } else {
    result = LaunchLater(std::move(launches), later);
  }
  profiler::GroupEnded();
  return static_cast<ncclResult_t>(result.load());
}

}  // extern "C"
