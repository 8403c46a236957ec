// SPDX-License-Identifier: Apache-2.0
// Properties of the functions of functions.def, for the shim and the collector: numbers, names, and
// the rule by which the calls of different ranks match. Everything is derived from the .def files.
#ifndef ROLLCALL_PROTO_OPERATIONS_H_
#define ROLLCALL_PROTO_OPERATIONS_H_

#include <cstdint>
#include <string_view>

#include "proto/mix.h"

namespace rollcall {

// Record::operation. Operation::kAllreduce is MPI_Allreduce.
enum class Operation : uint16_t {
  kNone = 0,
#define FUNCTION(id, name, kind, rule, large, ...) k##name = (id),
#include "proto/functions.def"
#undef FUNCTION
#define TORCH_OPERATION(id, identifier, name, kind, rule) kTorch##identifier = (id),
#include "proto/torch_operations.def"
#undef TORCH_OPERATION
#define C10D(id, identifier, name, kind, rule)                                    \
  kC10d##identifier = (id), /* and where the group's operations run on devices */ \
      kC10dDevice##identifier = (id) + 200,
#include "proto/torch_functions.def"
#define NCCL(id, name, kind, rule, ...) kNccl##name = (id),
#define NCCL_FORM(name, operation, ...)
#include "proto/nccl_functions.def"
#undef NCCL
#undef NCCL_FORM
#define CUDA(id, name, kind, ...) k##name = (id),
#include "proto/cuda_functions.def"
#undef CUDA
  // Not functions: other records in a ring.
  kCallError = 900,  // a call returned an error: detail = its class, detail2 = its operation
  kThreadExit = 901,
  // At MPI_Finalize: objects that the program made and never freed. detail = their number (with
  // kCountsCut: at least), detail2 = the operation that made them, call_path = where.
  kLeftover = 902,
};

// The arguments that must agree between the members of a communicator: matching_rules.def.
enum class Rule : uint8_t {
#define RULE(name, ...) k##name,
#include "proto/matching_rules.def"
#undef RULE
};

// The members for which the caller of a collective must wait. By MPI 4.0, 6.1, a call may return as
// soon as the caller's part is complete.
enum class Needs : uint8_t {
  kUnknown,         // not known; assumed to be all members
  kAll,             // all members; on an intercommunicator, the other group
  kAllIfCounted,    // like kAll, if the caller's own block is not empty
  kRoot,            // the root; the root itself waits for no member
  kMembers,         // the root waits for all members, the others for none
  kCountedMembers,  // the root waits for the members from which it receives data, others for none
  kLower,           // the lower ranks
  kCounted,         // the members from which the caller receives data
  kNeighbors,       // like kCounted, over the incoming edges of the topology
};

// The argument that, if it is empty, means that the caller waits for no member.
enum class Empty : uint8_t { kNever, kReceive, kEither };

// Selects the shim's work around a call, and the meaning of its record: call_kinds.def.
enum class Kind : uint8_t {
#define KIND(name, ...) k##name,
#include "proto/call_kinds.def"
#undef KIND
};

enum class CallGroup : uint8_t { kCollective, kP2p, kRequests, kLifecycle };

namespace internal {

enum RuleTraits : uint8_t { kHasRoot = 1, kReduces = 2, kOnTopology = 4 };

struct RuleInfo {
  bool has_data;  // the record has arguments that must agree
  Needs needs;
  Empty empty;
  int traits;
};
inline constexpr RuleInfo kRules[] = {
#define RULE(name, record, match, needs, empty, traits) \
  {std::string_view(#record) != "Nothing", Needs::k##needs, Empty::k##empty, traits},
#include "proto/matching_rules.def"
#undef RULE
};

enum CallTraits : uint8_t {
  kGivesRequest = 1,  // returns a request for a collective operation
  kLocal = 2,         // waits for no other process, and no other process waits for it
  kPolls = 4,         // asks whether something is complete
  kWaits = 8,         // waits for requests
  kManyRequests = 16,
  kAnyRequest = 32,
  kSomeRequests = 64,
};

struct KindInfo {
  CallGroup group;
  int traits;
};
inline constexpr KindInfo kKinds[] = {
#define KIND(name, group, traits) {CallGroup::k##group, traits},
#include "proto/call_kinds.def"
#undef KIND
};

constexpr bool Has(Rule rule, int traits) {
  return (kRules[static_cast<int>(rule)].traits & traits) == traits;
}
constexpr bool Has(Kind kind, int traits) {
  return (kKinds[static_cast<int>(kind)].traits & traits) == traits;
}

}  // namespace internal

constexpr Needs NeedsOf(Rule rule) { return internal::kRules[static_cast<int>(rule)].needs; }
constexpr Empty EmptyOf(Rule rule) { return internal::kRules[static_cast<int>(rule)].empty; }
constexpr bool HasRoot(Rule rule) { return internal::Has(rule, internal::kHasRoot); }
constexpr bool Reduces(Rule rule) { return internal::Has(rule, internal::kReduces); }
constexpr bool IsOnTopology(Rule rule) { return internal::Has(rule, internal::kOnTopology); }

// MPI_Exscan: the first member has no result, and no result contains the last member's input.
constexpr bool IsExclusiveScan(Operation operation) {
  return operation == Operation::kExscan || operation == Operation::kIexscan ||
         operation == Operation::kExscan_init;
}

constexpr CallGroup GroupOf(Kind kind) { return internal::kKinds[static_cast<int>(kind)].group; }
constexpr bool IsCollective(Kind kind) { return GroupOf(kind) == CallGroup::kCollective; }
// Returns a request for a collective operation.
constexpr bool IsNonblockingCollective(Kind kind) {
  return internal::Has(kind, internal::kGivesRequest);
}
// Waits for no other process, and no other process waits for it. Recorded while it runs and if it
// fails.
constexpr bool IsLocal(Kind kind) { return internal::Has(kind, internal::kLocal); }
// Asks whether something is complete. Recorded only if it is.
constexpr bool IsPoll(Kind kind) { return internal::Has(kind, internal::kPolls); }
// MPI_Wait and its forms.
constexpr bool IsWait(Kind kind) { return internal::Has(kind, internal::kWaits); }
// Takes an array of requests. TakesAny: completes any one of them; TakesSome: some.
constexpr bool TakesMany(Kind kind) { return internal::Has(kind, internal::kManyRequests); }
constexpr bool TakesAny(Kind kind) { return internal::Has(kind, internal::kAnyRequest); }
constexpr bool TakesSome(Kind kind) { return internal::Has(kind, internal::kSomeRequests); }

struct OperationInfo {
  Operation operation = Operation::kNone;
  std::string_view name;  // "MPI_Allreduce"
  Kind kind = Kind::kNone;
  Rule rule = Rule::kNone;
  // Record::semantic_hash of a collective without data; 0 if there are data.
  uint64_t hash_without_data = internal::kRules[static_cast<int>(rule)].has_data
                                   ? 0
                                   : Mix64(Mix64(static_cast<uint64_t>(operation), 0), 0);
};

inline constexpr OperationInfo kOperations[] = {
#define FUNCTION(id, name, kind, rule, large, ...) \
  {Operation::k##name, "MPI_" #name, Kind::k##kind, Rule::k##rule},
#include "proto/functions.def"
#undef FUNCTION
};

// The operations that torch.distributed enqueues, as Flight Recorder's dumps name them. The shim
// does not wrap them.
inline constexpr OperationInfo kTorchOperations[] = {
#define TORCH_OPERATION(id, identifier, name, kind, rule) \
  {Operation::kTorch##identifier, name, Kind::k##kind, Rule::k##rule},
#include "proto/torch_operations.def"
#undef TORCH_OPERATION
};

// The host's calls of torch.distributed.
inline constexpr OperationInfo kC10dOperations[] = {
#define C10D(id, identifier, name, kind, rule) \
  {Operation::kC10d##identifier, name, Kind::k##kind, Rule::k##rule},
#include "proto/torch_functions.def"
};
// The same calls on a group whose operations run on devices. No ring has these numbers: the
// collector converts the numbers of such a group's calls (OnDevice).
inline constexpr OperationInfo kC10dDeviceOperations[] = {
#define C10D(id, identifier, name, kind, rule)                                       \
  {Operation::kC10dDevice##identifier, name,                                         \
   internal::Has(Kind::k##kind, internal::kWaits) ? Kind::kHostWait : Kind::k##kind, \
   Rule::k##rule},
#include "proto/torch_functions.def"
};

// NCCL's functions, and the CUDA functions that wait for them.
inline constexpr OperationInfo kNcclOperations[] = {
#define NCCL(id, name, kind, rule, ...) \
  {Operation::kNccl##name, "nccl" #name, Kind::k##kind, Rule::k##rule},
#define NCCL_FORM(name, operation, ...)
#include "proto/nccl_functions.def"
#undef NCCL
#undef NCCL_FORM
#define CUDA(id, name, kind, ...) {Operation::k##name, #name, Kind::k##kind, Rule::kNone},
#include "proto/cuda_functions.def"
#undef CUDA
};

inline constexpr uint16_t kOperationNumbers = 900;  // larger than all operation numbers

constexpr bool IsTorch(Operation operation) {
  return static_cast<uint16_t>(operation) >= 600 && static_cast<uint16_t>(operation) < 640;
}

// A call of torch.distributed on a group whose operations run on devices.
constexpr bool IsC10dOnDevice(Operation operation) {
  return static_cast<uint16_t>(operation) >= 840 && static_cast<uint16_t>(operation) < 900;
}

// A call of torch.distributed on the host.
constexpr bool IsC10d(Operation operation) {
  return IsC10dOnDevice(operation) ||
         (static_cast<uint16_t>(operation) >= 640 && static_cast<uint16_t>(operation) < 700);
}

// Converts a call's number in a ring to its number on a group whose operations run on devices.
constexpr uint16_t OnDevice(uint16_t c10d) { return static_cast<uint16_t>(c10d + 200); }

// A wait for a key in a store of torch.distributed. It belongs to no communicator.
constexpr bool IsStoreWait(Operation operation) {
  return operation == Operation::kC10dStoreWait || operation == Operation::kC10dStoreGet;
}

constexpr bool IsNccl(Operation operation) {
  return static_cast<uint16_t>(operation) >= 700 && static_cast<uint16_t>(operation) < 800;
}

// Runs on a device's stream, in the order of that stream.
constexpr bool IsOnDevice(Operation operation) {
  return IsTorch(operation) || IsNccl(operation) || IsC10dOnDevice(operation);
}
// A call that hands an operation over to a device, and returns.
constexpr bool IsEnqueued(const OperationInfo& info) {
  return IsOnDevice(info.operation) && (info.kind == Kind::kNonblocking ||
                                        info.kind == Kind::kIsend || info.kind == Kind::kIrecv);
}

namespace internal {
struct OperationsByNumber {
  OperationInfo row[kOperationNumbers];
  constexpr OperationsByNumber() : row{} {
    for (const OperationInfo& info : kOperations) row[static_cast<uint16_t>(info.operation)] = info;
    for (const OperationInfo& info : kTorchOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
    for (const OperationInfo& info : kC10dOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
    for (const OperationInfo& info : kC10dDeviceOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
    for (const OperationInfo& info : kNcclOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
  }
};
inline constexpr OperationsByNumber kOperationsByNumber;
}  // namespace internal

// Returns the row of `operation`. The row has no name if the number is unknown; the ring may come
// from a newer shim.
constexpr const OperationInfo& FindOperation(uint16_t operation) {
  return internal::kOperationsByNumber.row[operation < kOperationNumbers ? operation : 0];
}

// Reduction operations (Record::reduce_op). Each MPI library's handles are mapped to these values.
enum class ReduceOp : uint16_t {
  kNone = 0,
  kMax,
  kMin,
  kSum,
  kProd,
  kLand,
  kBand,
  kLor,
  kBor,
  kLxor,
  kBxor,
  kMaxloc,
  kMinloc,
  kReplace,
  kNoOp,
  kNull,  // MPI_OP_NULL
  // NCCL's, shown with NCCL's names.
  kNcclSum = 50,
  kNcclProd,
  kNcclMax,
  kNcclMin,
  kNcclAvg,
  // PyTorch's, in the order of c10d::ReduceOp.
  kTorchSum = 60,
  kTorchAvg,
  kTorchProduct,
  kTorchMin,
  kTorchMax,
  kTorchBand,
  kTorchBor,
  kTorchBxor,
  kTorchPremulSum,
  kUser = 100,  // made by MPI_Op_create or NCCL's RedOpCreate: not compared
  kUnknown = 101,
};

constexpr std::string_view ReduceOpName(uint16_t op) {
  constexpr std::string_view kNames[] = {"",           "MPI_MAX",     "MPI_MIN",   "MPI_SUM",
                                         "MPI_PROD",   "MPI_LAND",    "MPI_BAND",  "MPI_LOR",
                                         "MPI_BOR",    "MPI_LXOR",    "MPI_BXOR",  "MPI_MAXLOC",
                                         "MPI_MINLOC", "MPI_REPLACE", "MPI_NO_OP", "MPI_OP_NULL"};
  if (op < sizeof(kNames) / sizeof(kNames[0])) return kNames[op];
  constexpr std::string_view kNcclNames[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin",
                                             "ncclAvg"};
  constexpr auto kFirstNccl = static_cast<uint16_t>(ReduceOp::kNcclSum);
  if (op >= kFirstNccl && op <= static_cast<uint16_t>(ReduceOp::kNcclAvg)) {
    return kNcclNames[op - kFirstNccl];
  }
  constexpr std::string_view kTorchNames[] = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                              "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  constexpr auto kFirstTorch = static_cast<uint16_t>(ReduceOp::kTorchSum);
  if (op >= kFirstTorch && op <= static_cast<uint16_t>(ReduceOp::kTorchPremulSum)) {
    return kTorchNames[op - kFirstTorch];
  }
  return op == static_cast<uint16_t>(ReduceOp::kUser) ? "user-defined op" : "unknown op";
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_OPERATIONS_H_
