// SPDX-License-Identifier: Apache-2.0
// librollcall.so as NCCL's profiler plugin (NCCL_PROFILER_PLUGIN). It exports one table for each
// version of the interface; NCCL looks for the newest first. Every callback returns success.
#include "shim/nccl/profiler_abi.h"

#ifndef ROLLCALL_NO_EXPORTS

#include <cstring>
#include <string_view>

#include "shim/nccl/profiler_events.h"
#include "shim/platform.h"
#include "shim/stack/stack.h"

namespace rollcall::shim::nccl::profiler {
namespace {

constexpr int kSuccess = 0;

// Expand it in the callback itself.
#define RC_CALLER() \
  Caller { ROLLCALL_CALLER_FRAME(), __builtin_extract_return_addr(__builtin_return_address(0)) }

// ncclFunc_t of NCCL 2.23 (src/include/nccl_common.h).
Operation FunctionOf(uint8_t number) {
  constexpr Operation kFunctions[] = {Operation::kNcclBroadcast, Operation::kNcclReduce,
                                      Operation::kNcclAllGather, Operation::kNcclReduceScatter,
                                      Operation::kNcclAllReduce, Operation::kNone,
                                      Operation::kNcclSend,      Operation::kNcclRecv};
  return number < sizeof(kFunctions) / sizeof(kFunctions[0]) ? kFunctions[number]
                                                             : Operation::kNone;
}

// The operations that enqueue, by NCCL's names: "AllReduce" is ncclAllReduce.
struct FunctionNames {
  static constexpr size_t kMax = sizeof(kNcclOperations) / sizeof(kNcclOperations[0]);
  std::string_view name[kMax];
  Operation operation[kMax];
  size_t count;
  constexpr FunctionNames() : name{}, operation{}, count(0) {
    constexpr size_t kPrefix = 4;  // "nccl" in our names
    for (const OperationInfo& info : kNcclOperations) {
      const bool enqueues =
          info.kind == Kind::kNonblocking || info.kind == Kind::kIsend || info.kind == Kind::kIrecv;
      if (!enqueues) continue;
      name[count] = std::string_view(info.name).substr(kPrefix);
      operation[count++] = info.operation;
    }
  }
};

Operation FunctionOf(const char* name) {
  static constexpr FunctionNames kFunctions;
  if (name == nullptr) return Operation::kNone;
  const std::string_view wanted = name;
  for (size_t i = 0; i < kFunctions.count; ++i) {
    if (kFunctions.name[i] == wanted) return kFunctions.operation[i];
  }
  return Operation::kNone;
}

int TypeOf(uint8_t number) { return number; }

int TypeOf(const char* name) {
  constexpr const char* kTypes[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                    "ncclUint32",   "ncclInt64",      "ncclUint64",
                                    "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                    "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  for (int i = 0; name != nullptr && i < static_cast<int>(sizeof(kTypes) / sizeof(kTypes[0]));
       ++i) {
    if (strcmp(name, kTypes[i]) == 0) return i;
  }
  return -1;
}

template <typename Part>
Called ToCalled(const Part& part, int root_or_peer) {
  Called called;
  called.operation = FunctionOf(part.function);
  called.count = part.count;
  called.datatype = TypeOf(part.datatype);
  called.root_or_peer = root_or_peer;
  return called;
}

template <typename Part>
Called ToCall(const Part& part, int root_or_peer) {
  Called called = ToCalled(part, root_or_peer);
  called.stream = reinterpret_cast<uint64_t>(part.stream);
  called.captured = part.captured;
  return called;
}

void* ToHandle(uint64_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): never a pointer
}
uint64_t ToNumber(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

// --- init ----------------------------------------------------------------------------------------

int MaskFor(const Context* context, int version) {
  if (context == nullptr) return 0;
  uint64_t mask = version >= 5 ? kGroupApi | kCollApi | kP2pApi | kP2p : kGroup | kColl | kP2p;
  // Up to version 3, NCCL does not report the number of channels.
  if (version >= 4 && WantsKernels()) mask |= kColl | kKernelChannel;
  return static_cast<int>(mask);
}

void Begin(void** place, int* mask, int version, const Caller& caller, const Identity& identity) {
  Context* context = Open(caller, version, identity);
  if (place != nullptr) *place = context;
  if (mask != nullptr) *mask = MaskFor(context, version);
}

template <int kVersion>
int Init(void** context, int* mask) {
  Begin(context, mask, kVersion, RC_CALLER(), {});
  return kSuccess;
}

template <int kVersion>
int InitNamed(void** context, int* mask, const char* name, uint64_t hash, int, int nranks, int rank,
              void*) {
  Begin(context, mask, kVersion, RC_CALLER(), {hash, name, rank, nranks});
  return kSuccess;
}

template <int kVersion>
int InitHashed(void** context, uint64_t hash, int* mask, const char* name, int, int nranks,
               int rank, void*) {
  Begin(context, mask, kVersion, RC_CALLER(), {hash, name, rank, nranks});
  return kSuccess;
}

// --- events --------------------------------------------------------------------------------------

// Versions 1 to 3: each event identifies its communicator.
template <typename AnyDescriptor>
uint64_t Started(Context* context, const Caller& caller, const AnyDescriptor& event) {
  const uint64_t parent = ToNumber(event.parent);
  if (event.type == kGroup) return BeginKernel();
  if (event.type == kColl) {
    return Launched(context, caller, parent,
                    {event.coll.comm_hash, event.coll.comm_name, event.rank},
                    ToCalled(event.coll, event.coll.root), 0);
  }
  if (event.type == kP2p) {
    return Launched(context, caller, parent, {event.p2p.comm_hash, event.p2p.comm_name, event.rank},
                    ToCalled(event.p2p, event.p2p.peer), 0);
  }
  return 0;
}

template <>
uint64_t Started(Context* context, const Caller& caller, const DescriptorV4& event) {
  const uint64_t parent = ToNumber(event.parent);
  switch (event.type) {
    case kGroup:
      return BeginKernel();
    case kColl:
      return Launched(context, caller, parent, {}, ToCalled(event.coll, event.coll.root),
                      event.coll.channels);
    case kP2p:
      return Launched(context, caller, parent, {}, ToCalled(event.p2p, event.p2p.peer), 0);
    case kKernelChannel:
      return ChannelStarted(parent);
    default:
      return 0;
  }
}

template <>
uint64_t Started(Context* context, const Caller& caller, const DescriptorV5& event) {
  const uint64_t parent = ToNumber(event.parent);
  switch (event.type) {
    case kGroupApi:
      return BeginGroup(context, caller, event.group_api.depth <= 1);
    case kCollApi:
      return Collective(context, caller, ToCall(event.coll_api, event.coll_api.root));
    case kP2pApi:
      return Message(context, caller, ToCall(event.p2p_api, -1));
    case kP2p:
      MessageLaunched(context, caller, parent, ToCalled(event.p2p, event.p2p.peer));
      return 0;
    case kColl:
      return CollectiveLaunched(parent, event.coll.channels);
    case kKernelChannel:
      return ChannelStarted(parent);
    default:
      return 0;
  }
}

template <typename AnyDescriptor>
int StartEvent(void* context, void** handle, AnyDescriptor* event) {
  const Caller caller = RC_CALLER();
  uint64_t started = 0;
  if (context != nullptr && event != nullptr) {
    started = Started(static_cast<Context*>(context), caller, *event);
  }
  if (handle != nullptr) *handle = ToHandle(started);
  return kSuccess;
}

int StopEvent(void* handle) {
  Stopped(ToNumber(handle), RC_CALLER());
  return kSuccess;
}

int RecordEventState(void* handle, int state, void*) {
  if (state == kGroupEndStarts) EndGroup(ToNumber(handle), RC_CALLER());
  return kSuccess;
}

int Finalize(void* context) {
  if (context != nullptr) Close(static_cast<Context*>(context));
  return kSuccess;
}

constexpr char kName[] = "rollcall";

}  // namespace
}  // namespace rollcall::shim::nccl::profiler

#define RC_PLUGIN(version, table, init, descriptor)                                            \
  extern "C" ROLLCALL_EXPORT rollcall::shim::nccl::profiler::table ncclProfiler_v##version;    \
  rollcall::shim::nccl::profiler::table ncclProfiler_v##version = {                            \
      rollcall::shim::nccl::profiler::kName,                                                   \
      &rollcall::shim::nccl::profiler::init<version>,                                          \
      &rollcall::shim::nccl::profiler::StartEvent<rollcall::shim::nccl::profiler::descriptor>, \
      &rollcall::shim::nccl::profiler::StopEvent,                                              \
      &rollcall::shim::nccl::profiler::RecordEventState,                                       \
      &rollcall::shim::nccl::profiler::Finalize};
RC_PLUGIN(1, PluginV1, Init, DescriptorV1)
RC_PLUGIN(2, PluginV2, Init, DescriptorV2)
RC_PLUGIN(3, PluginV2, Init, DescriptorV2)
RC_PLUGIN(4, PluginV4, InitNamed, DescriptorV4)
RC_PLUGIN(5, PluginV5, InitHashed, DescriptorV5)
RC_PLUGIN(6, PluginV5, InitHashed, DescriptorV5)
RC_PLUGIN(7, PluginV5, InitHashed, DescriptorV5)

#endif  // ROLLCALL_NO_EXPORTS
