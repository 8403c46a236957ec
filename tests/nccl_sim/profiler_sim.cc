// SPDX-License-Identifier: Apache-2.0
#include "tests/nccl_sim/profiler_sim.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>

#include "shim/nccl/profiler_abi.h"

namespace abi = rollcall::shim::nccl::profiler;

namespace nccl_sim::profiler {

struct Comm {
  void* context = nullptr;
  uint64_t hash = 0;
  int rank = 0;
};

struct Task {
  std::shared_ptr<Comm> comm;
  Called called{};
  uint64_t number = 0;  // of its function
  int mask = 0;
  void* api = nullptr;    // handles
  void* event = nullptr;  // coll or p2p
  std::array<void*, 2> channels{};
};

namespace {

constexpr int kNewest = 7;

const char* const kTypes[] = {"ncclInt8",   "Unknown",     "ncclInt32",   "ncclUint32", "ncclInt64",
                              "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64"};
const char* const kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                  "AllReduce", "SendRecv", "Send",      "Recv"};

uint8_t NumberOfFunction(const char* name) {
  for (uint8_t i = 0; i < 8; ++i) {
    if (strcmp(kFunctions[i], name) == 0) return i;
  }
  return 6;
}

// What is loaded; the pointers are of one kind each.
struct Loaded {
  std::mutex mutex;
  void* library = nullptr;
  void* table = nullptr;
  int version = 0;
  int users = 0;
  int mask = 0;
  bool failed = false;
};
Loaded& Plugin() {
  static auto* plugin = new Loaded;
  return *plugin;
}

template <typename Table>
Table* TableOf() {
  return static_cast<Table*>(Plugin().table);
}

// Newest first, as getNcclProfiler_vN in turn.
bool Load() {
  Loaded& plugin = Plugin();
  if (plugin.failed || plugin.table != nullptr) return !plugin.failed;
  plugin.failed = true;
  const char* name = getenv("NCCL_PROFILER_PLUGIN");
  if (name == nullptr || name[0] == '\0' || strcasecmp(name, "none") == 0) return false;
  plugin.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (plugin.library == nullptr) return false;
  const char* told = getenv("NCCL_SIM_PROFILER");
  for (int version = told == nullptr ? kNewest : atoi(told); version > 0; --version) {
    plugin.table = dlsym(plugin.library, ("ncclProfiler_v" + std::to_string(version)).c_str());
    plugin.version = version;
    if (plugin.table != nullptr) break;
  }
  plugin.failed = plugin.table == nullptr;
  return !plugin.failed;
}

// Whichever version the table is of: the part behind `init` differs in the descriptor alone.
template <typename Use>
void WithTable(const Use& use) {
  const int version = Plugin().version;
  if (version == 1) use(TableOf<abi::PluginV1>());
  if (version == 2 || version == 3) use(TableOf<abi::PluginV2>());
  if (version == 4) use(TableOf<abi::PluginV4>());
  if (version >= 5) use(TableOf<abi::PluginV5>());
}

template <typename Descriptor>
using TableFor = std::conditional_t<
    std::is_same_v<Descriptor, abi::DescriptorV1>, abi::PluginV1,
    std::conditional_t<std::is_same_v<Descriptor, abi::DescriptorV2>, abi::PluginV2,
                       std::conditional_t<std::is_same_v<Descriptor, abi::DescriptorV4>,
                                          abi::PluginV4, abi::PluginV5>>>;

template <typename Descriptor>
Descriptor Empty(uint64_t type) {
  Descriptor event;
  memset(static_cast<void*>(&event), 0, sizeof(event));
  event.type = static_cast<decltype(event.type)>(type);
  return event;
}

template <typename Descriptor>
void* Start(const Comm& comm, Descriptor event) {
  void* handle = nullptr;
  TableOf<TableFor<Descriptor>>()->start_event(comm.context, &handle, &event);
  return handle;
}

void Stop(void* handle) {
  if (handle == nullptr) return;
  WithTable([&](auto* table) { table->stop_event(handle); });
}

// A thread's group, as ncclProfilerApiState.
struct Group {
  void* handle = nullptr;
};
thread_local Group t_group;

template <typename Part>
void FillNames(Part* part, const Task& task) {
  part->comm_name = "";
  part->comm_hash = task.comm->hash;
}

// --- the event of a task on its way to the device ------------------------------------------------

template <typename Descriptor>
Descriptor Coll(const Task& task) {
  Descriptor event = Empty<Descriptor>(abi::kColl);
  event.coll.number = task.number;
  event.coll.count = task.called.count;
  event.coll.root = task.called.root_or_peer;
  if constexpr (std::is_same_v<Descriptor, abi::DescriptorV1>) {
    event.coll.function = NumberOfFunction(task.called.function);
    event.coll.datatype = static_cast<uint8_t>(task.called.type);
  } else {
    event.coll.function = task.called.function;
    event.coll.datatype = kTypes[task.called.type];
  }
  return event;
}

template <typename Descriptor>
Descriptor P2p(const Task& task) {
  Descriptor event = Empty<Descriptor>(abi::kP2p);
  event.p2p.count = task.called.count;
  event.p2p.peer = task.called.root_or_peer;
  if constexpr (std::is_same_v<Descriptor, abi::DescriptorV1>) {
    event.p2p.function = NumberOfFunction(task.called.function);
    event.p2p.datatype = static_cast<uint8_t>(task.called.type);
  } else {
    event.p2p.function = task.called.function;
    event.p2p.datatype = kTypes[task.called.type];
  }
  return event;
}

template <typename Descriptor>
void* StartTask(const Task& task, void* parent) {
  Descriptor event = task.called.message ? P2p<Descriptor>(task) : Coll<Descriptor>(task);
  event.parent = parent;
  event.rank = task.comm->rank;
  if constexpr (std::is_same_v<Descriptor, abi::DescriptorV1> ||
                std::is_same_v<Descriptor, abi::DescriptorV2>) {
    task.called.message ? FillNames(&event.p2p, task) : FillNames(&event.coll, task);
  } else {
    const auto channels = static_cast<uint8_t>(task.channels.size());
    (task.called.message ? event.p2p.channels : event.coll.channels) = channels;
  }
  return Start(*task.comm, event);
}

}  // namespace

std::shared_ptr<Comm> Init(const std::string& name, int nranks, int rank) {
  Loaded& plugin = Plugin();
  const std::lock_guard<std::mutex> lock(plugin.mutex);
  if (!Load()) return nullptr;
  auto comm = std::make_shared<Comm>();
  comm->hash = std::hash<std::string>()(name);
  comm->rank = rank;
  ++plugin.users;
  if (plugin.version < 4) {
    WithTable([&](auto* table) {
      if constexpr (std::is_same_v<decltype(table->init), abi::InitV1*>) {
        table->init(&comm->context, &plugin.mask);
      }
    });
  } else if (plugin.version == 4) {
    TableOf<abi::PluginV4>()->init(&comm->context, &plugin.mask, nullptr, comm->hash, 1, nranks,
                                   rank, nullptr);
  } else {
    TableOf<abi::PluginV5>()->init(&comm->context, comm->hash, &plugin.mask, nullptr, 1, nranks,
                                   rank, nullptr);
  }
  return comm;
}

void Finalize(std::shared_ptr<Comm>* comm) {
  if (*comm == nullptr) return;
  Loaded& plugin = Plugin();
  const std::lock_guard<std::mutex> lock(plugin.mutex);
  if ((*comm)->context != nullptr) {
    WithTable([&](auto* table) { table->finalize((*comm)->context); });
  }
  comm->reset();
  if (--plugin.users > 0) return;
  dlclose(plugin.library);
  plugin.library = plugin.table = nullptr;
}

// In 2.28 the descriptors of these have no rank (NVIDIA/nccl#2300).
std::shared_ptr<Task> Call(const std::shared_ptr<Comm>& comm, const Called& called, int depth) {
  if (comm == nullptr || Plugin().mask == 0) return nullptr;
  auto task = std::make_shared<Task>();
  task->comm = comm;
  task->called = called;
  task->mask = Plugin().mask;
  if (Plugin().version < 5) return task;
  if (t_group.handle == nullptr) {
    auto event = Empty<abi::DescriptorV5>(abi::kGroupApi);
    event.group_api = {called.captured, depth};
    t_group.handle = Start(*comm, event);
  }
  auto event = Empty<abi::DescriptorV5>(called.message ? abi::kP2pApi : abi::kCollApi);
  event.parent = t_group.handle;
  const char* type = kTypes[called.type];
  if (called.message) {
    event.p2p_api = {called.function, called.count, type, called.stream, called.captured};
  } else {
    event.coll_api = {called.function,     called.count,  type,
                      called.root_or_peer, called.stream, called.captured};
  }
  task->api = Start(*comm, event);
  Stop(task->api);
  return task;
}

void GroupEnds() {
  if (t_group.handle == nullptr) return;
  TableOf<abi::PluginV5>()->record_event_state(t_group.handle, abi::kGroupEndStarts, nullptr);
}

void GroupEnded() {
  Stop(t_group.handle);
  t_group.handle = nullptr;
}

void Launched(const Tasks& tasks) {
  void* kernel = nullptr;
  for (const std::shared_ptr<Task>& task : tasks) {
    if (task == nullptr) continue;
    const int wanted =
        static_cast<int>(task->called.message ? abi::kP2p : abi::kColl | abi::kKernelChannel);
    if ((task->mask & wanted) == 0) continue;
    switch (Plugin().version) {
      case 1:
        if (kernel == nullptr) kernel = Start(*task->comm, Empty<abi::DescriptorV1>(abi::kGroup));
        task->event = StartTask<abi::DescriptorV1>(*task, kernel);
        break;
      case 2:
      case 3:
        if (kernel == nullptr) kernel = Start(*task->comm, Empty<abi::DescriptorV2>(abi::kGroup));
        task->event = StartTask<abi::DescriptorV2>(*task, kernel);
        break;
      case 4:
        if (kernel == nullptr) kernel = Start(*task->comm, Empty<abi::DescriptorV4>(abi::kGroup));
        task->event = StartTask<abi::DescriptorV4>(*task, kernel);
        break;
      default:
        task->event = StartTask<abi::DescriptorV5>(*task, task->api);
    }
    Stop(task->event);
  }
  Stop(kernel);
}

void Replayed(const Tasks& tasks) {
  if (!tasks.empty() && tasks.front() != nullptr && tasks.front()->comm->rank % 2 == 0) {
    Launched(tasks);
  }
}

void KernelStarts(const std::shared_ptr<Task>& task) {
  if (task == nullptr || (task->mask & static_cast<int>(abi::kKernelChannel)) == 0) return;
  for (void*& channel : task->channels) {
    if (Plugin().version == 4) {
      auto event = Empty<abi::DescriptorV4>(abi::kKernelChannel);
      event.parent = task->event;
      channel = Start(*task->comm, event);
    } else if (Plugin().version > 4) {
      auto event = Empty<abi::DescriptorV5>(abi::kKernelChannel);
      event.parent = task->event;
      channel = Start(*task->comm, event);
    }
  }
}

void KernelStops(const std::shared_ptr<Task>& task) {
  if (task == nullptr) return;
  for (void*& channel : task->channels) {
    if (channel == nullptr) continue;
    WithTable(
        [&](auto* table) { table->record_event_state(channel, abi::kKernelChannelStop, nullptr); });
    Stop(channel);
    channel = nullptr;
  }
}

}  // namespace nccl_sim::profiler
