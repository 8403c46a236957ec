// SPDX-License-Identifier: Apache-2.0
// The used parts of NCCL's profiler plugin interface, versions 1 to 7, rewritten for this shim. The
// facts come from NCCL's headers: ext-profiler/example/nccl/profiler_v1.h to _v5.h and
// src/include/plugin/profiler/profiler_v1.h to _v7.h, with the event types and states of
// src/include/plugin/nccl_profiler.h (NCCL 2.23 to 2.31). tests/shim/nccl/profiler_abi_test.cc has
// the offsets as numbers.
//
// An event's descriptor has a type, the handle of the event's parent, the rank, and a union with
// one struct per event type. Only the event types that the shim uses are defined here. Their
// structs begin with the fields of NCCL's and omit unused fields at the end.
#ifndef ROLLCALL_SHIM_NCCL_PROFILER_ABI_H_
#define ROLLCALL_SHIM_NCCL_PROFILER_ABI_H_

#include <cstddef>
#include <cstdint>

namespace rollcall::shim::nccl::profiler {

// Event types: bits of the mask by which a plugin selects events.
enum : uint64_t {
  kGroup = 1 << 0,  // the work of one kernel; parent of its operations up to version 4
  kColl = 1 << 1,   // a collective on its way to the device
  kP2p = 1 << 2,
  kKernelChannel = 1 << 6,  // a channel's part of a kernel: its start and stop are reported
  kGroupApi = 1 << 8,       // since version 5: from a group's first operation to its outermost end
  kCollApi = 1 << 9,        // the call, in the caller's thread
  kP2pApi = 1 << 10,
};

// States, by recordEventState.
enum : int {
  kKernelChannelStop = 22,
  kGroupEndStarts = 24,
};

// --- operations; functions and types by number in version 1, by name since -----------------------

struct CollV1 {
  const char* comm_name;  // since NCCL 2.27 null, and the hash 0
  uint64_t comm_hash;
  uint64_t number;  // counts the collectives of one function
  uint8_t function;
  const void* sendbuf;
  void* recvbuf;
  size_t count;
  int root;
  uint8_t datatype;
};
struct P2pV1 {
  const char* comm_name;
  uint64_t comm_hash;
  uint8_t function;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int peer;
};

struct CollV2 {  // and 3
  const char* comm_name;
  uint64_t comm_hash;
  uint64_t number;
  const char* function;
  const void* sendbuf;
  void* recvbuf;
  size_t count;
  int root;
  const char* datatype;
};
struct P2pV2 {  // and 3
  const char* comm_name;
  uint64_t comm_hash;
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};

struct CollV4 {  // and later
  uint64_t number;
  const char* function;
  const void* sendbuf;
  void* recvbuf;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
};
struct P2pV4 {  // and later
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

// --- since version 5 -----------------------------------------------------------------------------

struct GroupApi {
  bool captured;
  int depth;
};
struct CollApi {
  const char* function;
  size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
struct P2pApi {  // without the peer, which only the P2p event contains
  const char* function;
  size_t count;
  const char* datatype;
  void* stream;
  bool captured;
};

// --- descriptors ---------------------------------------------------------------------------------

template <typename TypeBits, typename CollPart, typename P2pPart>
struct Descriptor {
  TypeBits type;
  void* parent;
  int rank;
  union {
    CollPart coll;
    P2pPart p2p;
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
  };
};
using DescriptorV1 = Descriptor<uint8_t, CollV1, P2pV1>;
using DescriptorV2 = Descriptor<uint8_t, CollV2, P2pV2>;  // and 3
using DescriptorV4 = Descriptor<uint8_t, CollV4, P2pV4>;
using DescriptorV5 = Descriptor<uint64_t, CollV4, P2pV4>;  // and later

// --- the table that a plugin exports as ncclProfiler_v<version> ----------------------------------

using InitV1 = int(void** context, int* mask);  // to 3
using InitV4 = int(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int nodes,
                   int nranks, int rank, void* logger);
using InitV5 = int(void** context, uint64_t comm_hash, int* mask, const char* comm_name, int nodes,
                   int nranks, int rank, void* logger);

template <typename Init, typename AnyDescriptor>
struct Plugin {
  const char* name;
  Init* init;
  int (*start_event)(void* context, void** handle, AnyDescriptor* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* state_arguments);
  int (*finalize)(void* context);
};
using PluginV1 = Plugin<InitV1, DescriptorV1>;
using PluginV2 = Plugin<InitV1, DescriptorV2>;  // and 3
using PluginV4 = Plugin<InitV4, DescriptorV4>;
using PluginV5 = Plugin<InitV5, DescriptorV5>;  // and later

}  // namespace rollcall::shim::nccl::profiler

#endif  // ROLLCALL_SHIM_NCCL_PROFILER_ABI_H_
