// What the functions of functions.def are, for both sides: numbers, names, and the rule by which
// the calls of different ranks match. Everything here is derived from the one list.
#ifndef ROLLCALL_PROTO_OPERATIONS_H_
#define ROLLCALL_PROTO_OPERATIONS_H_

#include <cstdint>
#include <string_view>

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
#define NCCL(id, name, kind, rule, ...) kNccl##name = (id),
#define NCCL_FORM(name, operation, ...)
#include "proto/nccl_functions.def"
#undef NCCL
#undef NCCL_FORM
#define CUDA(id, name, kind, ...) k##name = (id),
#include "proto/cuda_functions.def"
#undef CUDA
  // Not functions: what a ring says besides calls.
  kCallError = 900,  // a call returned an error: detail = its class, detail2 = its operation
  kThreadExit = 901,
  // At the end of MPI: what the program made and never freed. detail = how many (with kCountsCut:
  // at least), detail2 = the operation that made them, call_path = where.
  kLeftover = 902,
};

// What has to agree between the members of the communicator. Where a rule is more than its name
// says, MPI 4.0 chapter 6 (Collective Communication) is cited in collector/matching.
enum class Rule : uint8_t {
  kNone,     // nothing
  kBarrier,  // only that all call it
  kBcast,    // root; type signature
  kGather,   // root; each send signature equals the root's receive signature
  kGatherv,  // root; send signature i equals the root's recvcounts[i]
  kScatter,
  kScatterv,
  kAllgather,   // one block signature for all
  kAllgatherv,  // send signature i equals everybody's recvcounts[i]
  kAlltoall,    // one block signature for all
  kAlltoallv,   // i's sendcounts[j] equals j's recvcounts[i]
  kAlltoallw,
  kReduce,              // root, reduction op, signature
  kAllreduce,           // reduction op, signature
  kReduceScatter,       // reduction op, the whole array of counts, datatype
  kReduceScatterBlock,  // reduction op, one block's signature
  kNeighborAllgather,   // over the edges of the topology
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kCreate,  // the same kind of creation
  kP2p,     // pairwise in posting order by (source, destination, tag, communicator)
  kWait,
  kTest,
  kStart,
  kWindow,  // collective over a window
  kFile,    // collective over a file
  kRma,     // synchronises a window with some of its processes (post, start, lock, flush)
};

constexpr bool HasRoot(Rule rule) {
  return rule == Rule::kBcast || rule == Rule::kGather || rule == Rule::kGatherv ||
         rule == Rule::kScatter || rule == Rule::kScatterv || rule == Rule::kReduce;
}

// What the shim does around the call, and what a reader may expect of the record.
enum class Kind : uint8_t {
  kNone,
  kInit,
  kFinalize,
  kAbort,
  kCollective,            // blocking, advances the communicator's counter
  kNonblocking,           // advances the counter, a request comes out
  kPersistentCollective,  // init advances the counter, an inactive request comes out
  kCreateComm,            // collective; a communicator comes out
  kCreateCommNonblocking,
  kCreateGroup,  // collective over the group only: the parent's counter stays as it was
  kCreateIntercomm,
  kFreeComm,
  kDisconnect,
  kNameComm,
  kMakeHandle,  // local: a group, datatype or reduction operation comes out, to be freed
  kFreeHandle,
  kQuery,  // local, and worth a record only if it fails
  kSend,
  kRecv,
  kSendrecv,
  kIsend,
  kIrecv,
  kPersistentP2p,
  kProbe,
  kIprobe,
  kMrecv,
  kImrecv,
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kTestall,
  kTestany,
  kTestsome,
  kRequestGetStatus,
  kRequestFree,
  kCancel,
  kStart,
  kStartall,
  kPready,        // hands over some partitions of a partitioned send
  kWindowTest,    // polls a window, as kTest does a request
  kCreateWindow,  // collective on the communicator; a window comes out
  kFreeWindow,    // collective on the window
  kWindow,        // collective on the window
  // May block for other processes of the window, or makes a request that does; root_or_peer is the
  // target, if there is one.
  kWindowSync,
  kOpenFile,   // collective on the communicator; a file comes out
  kCloseFile,  // collective on the file, as are the next two
  kFile,
  kFileNonblocking,
  kFileRequest,  // not collective; a request comes out
  kSpawn,  // collective on the communicator; one comes out whose key the other side does not share
  kJoin,   // not collective; such a communicator comes out
  kGetParent,
  kSessionInit,
  kSessionFinalize,
  kCreateFromGroup,  // collective over a group: no communicator's counter
  kIntercommFromGroups,
  kBlock,        // may block; belongs to no communicator
  kNcclInit,     // a communicator comes out for all who pass the same identity; waits for them
  kNcclInitAll,  // communicators come out for several devices of this process
  kNcclOther,    // recorded, and not matched
  kNcclAsks,     // how far a communicator that does not block came
  kNcclGroupStart,
  kNcclGroupEnd,  // enqueues what was called since the outermost start, and waits for inits in it
  kHostWait,      // the host waits for a device
  kHostAsks,      // and asks in passing
  kHostMarks,
};

struct OperationInfo {
  Operation operation = Operation::kNone;
  std::string_view name;  // "MPI_Allreduce"
  Kind kind = Kind::kNone;
  Rule rule = Rule::kNone;
};

inline constexpr OperationInfo kOperations[] = {
#define FUNCTION(id, name, kind, rule, large, ...) \
  {Operation::k##name, "MPI_" #name, Kind::k##kind, Rule::k##rule},
#include "proto/functions.def"
#undef FUNCTION
};

// What torch.distributed enqueues: names only, nothing that a shim wraps.
inline constexpr OperationInfo kTorchOperations[] = {
#define TORCH_OPERATION(id, identifier, name, kind, rule) \
  {Operation::kTorch##identifier, name, Kind::k##kind, Rule::k##rule},
#include "proto/torch_operations.def"
#undef TORCH_OPERATION
};

// NCCL's functions, and CUDA's that wait for them.
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

inline constexpr uint16_t kOperationNumbers = 830;  // all lists' ranges end below

constexpr bool IsTorch(Operation operation) {
  return static_cast<uint16_t>(operation) >= 600 && static_cast<uint16_t>(operation) < 640;
}

constexpr bool IsNccl(Operation operation) {
  return static_cast<uint16_t>(operation) >= 700 && static_cast<uint16_t>(operation) < 800;
}

// Runs on a device's stream, in the order of that stream.
constexpr bool IsOnDevice(Operation operation) { return IsTorch(operation) || IsNccl(operation); }

namespace internal {
struct OperationsByNumber {
  OperationInfo row[kOperationNumbers];
  constexpr OperationsByNumber() : row{} {
    for (const OperationInfo& info : kOperations) row[static_cast<uint16_t>(info.operation)] = info;
    for (const OperationInfo& info : kTorchOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
    for (const OperationInfo& info : kNcclOperations) {
      row[static_cast<uint16_t>(info.operation)] = info;
    }
  }
};
inline constexpr OperationsByNumber kOperationsByNumber;
}  // namespace internal

// The row of `operation`, or a row without a name for a number that this version does not know
// (a ring may come from a newer shim).
constexpr const OperationInfo& FindOperation(uint16_t operation) {
  return internal::kOperationsByNumber.row[operation < kOperationNumbers ? operation : 0];
}

constexpr bool IsCollective(Kind kind) {
  return kind == Kind::kCollective || kind == Kind::kNonblocking ||
         kind == Kind::kPersistentCollective || kind == Kind::kCreateComm ||
         kind == Kind::kCreateCommNonblocking || kind == Kind::kCreateIntercomm ||
         kind == Kind::kDisconnect || kind == Kind::kCreateWindow || kind == Kind::kFreeWindow ||
         kind == Kind::kWindow || kind == Kind::kOpenFile || kind == Kind::kCloseFile ||
         kind == Kind::kFile || kind == Kind::kFileNonblocking || kind == Kind::kSpawn;
}

// A request that stands for a collective operation comes out.
constexpr bool IsNonblockingCollective(Kind kind) {
  return kind == Kind::kNonblocking || kind == Kind::kCreateCommNonblocking ||
         kind == Kind::kFileNonblocking;
}

// Waits for nobody, and nobody waits for it: on record while it lasts, and if it fails.
constexpr bool IsLocal(Kind kind) {
  return kind == Kind::kMakeHandle || kind == Kind::kFreeHandle || kind == Kind::kQuery;
}

// Asks whether something is complete, and is worth a record only when it is.
constexpr bool IsPoll(Kind kind) {
  return (kind >= Kind::kTest && kind <= Kind::kRequestGetStatus) || kind == Kind::kIprobe ||
         kind == Kind::kWindowTest;
}

// Reduction operations (Record::reduce_op). Values are ours; each MPI library's handles are mapped.
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
  // NCCL's, which are shown by NCCL's names.
  kNcclSum = 50,
  kNcclProd,
  kNcclMax,
  kNcclMin,
  kNcclAvg,
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
  return op == static_cast<uint16_t>(ReduceOp::kUser) ? "user-defined op" : "unknown op";
}

}  // namespace rollcall

#endif  // ROLLCALL_PROTO_OPERATIONS_H_
