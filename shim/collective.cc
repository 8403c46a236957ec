// The record of a collective: who passed what, and the hash of what must agree.
#include <cstring>

#include "proto/signature.h"
#include "shim/call.h"
#include "shim/datatypes.h"
#include "shim/platform.h"

namespace rollcall::shim::calls {
namespace {

uint16_t ReduceOpOf(const Library& library, Word word) {
  const uint64_t handle = library.Handle(word);
  for (uint16_t op = 1; op < 16; ++op) {
    if (handle == library.reduce_ops[op] && handle != 0) return op;
    if (handle == library.reduce_ops_copied[op] && handle != 0) return op;
  }
  return static_cast<uint16_t>(ReduceOp::kUser);
}

// One side of the data: counts, type, signature.
struct Side {
  uint64_t count = 0;
  uint16_t datatype = 0;
  uint64_t signature = 0;
};

Side Describe(Library* library, int64_t count, Word type, bool has_type) {
  Side side;
  if (!has_type) return side;
  side.count = static_cast<uint64_t>(count);
  const TypeInfo& info = DescribeType(library, type);
  side.datatype = info.index;
  side.signature = BufferSignature(info, count < 0 ? 0 : side.count);
  return side;
}

void SetSend(ring::Record* record, const Side& side) {
  record->send_count = side.count;
  record->send_datatype = side.datatype;
  record->send_signature = side.signature;
}

void SetRecv(ring::Record* record, const Side& side) {
  record->recv_count = side.count;
  record->recv_datatype = side.datatype;
  record->recv_signature = side.signature;
}

// An array of counts, int or MPI_Count.
struct Counts {
  const void* values;
  bool large;
  uint32_t size;

  uint64_t operator[](uint32_t i) const {
    const int64_t value = large ? static_cast<const int64_t*>(values)[i]
                                : static_cast<int64_t>(static_cast<const int*>(values)[i]);
    return value < 0 ? 0 : static_cast<uint64_t>(value);
  }
};

// Writes the array as continuation records before the record itself. With `types` (w-collectives)
// the values are signatures of (count, type).
void AppendCounts(Call* call, uint16_t array, const Counts& counts, const void* types) {
  ring::Record& record = call->record;
  if (counts.values == nullptr || counts.size == 0) return;
  const uint32_t needed = (counts.size + ring::kContinuationValues - 1) / ring::kContinuationValues;
  if (counts.size > ring::kMaxCountValues) {
    record.flags |= ring::kCountsCut;
    return;
  }
  for (uint32_t piece = 0; piece < needed; ++piece) {
    ring::Continuation part;
    memset(&part, 0, sizeof(part));
    part.operation = ring::kContinuation;
    part.array = array;
    part.first = piece * ring::kContinuationValues;
    for (uint32_t i = 0; i < ring::kContinuationValues && part.first + i < counts.size; ++i) {
      const uint32_t at = part.first + i;
      part.values[i] =
          types == nullptr || counts[at] == 0  // then the type may be anything
              ? (types == nullptr ? counts[at] : kEmptySignature)
              : BufferSignature(DescribeType(call->library, call->library->At(types, at)),
                                counts[at]);
      part.value_count = i + 1;
    }
    ring::Record as_record;
    memcpy(&as_record, &part, sizeof(as_record));
    call->log->rings[ring::kCollectiveRing].Append(as_record);
    ++record.continuations;
  }
}

// Of what every rank passes alike: the blocks in order, as numbers of basics.
uint64_t HashBlocks(const Counts& counts, const TypeInfo& type) {
  if (counts.values == nullptr || type.uniform == 0) return 0;
  uint64_t hash = type.uniform;
  for (uint32_t i = 0; i < counts.size; ++i) hash = Mix64(hash, counts[i] * type.basics);
  return hash;
}

bool IsNeighbor(Rule rule) {
  return rule >= Rule::kNeighborAllgather && rule <= Rule::kNeighborAlltoallw;
}

}  // namespace

void FillCollective(Call* call, const Arguments& a) {
  ring::Record& record = call->record;
  Library* library = call->library;
  const Abi& abi = library->abi;
  const Rule rule = call->info->rule;
  const Comm* comm = call->comm;
  const bool inter = comm != nullptr && comm->inter();
  if (inter) record.flags |= ring::kIntercomm;
  if (rule == Rule::kBarrier || rule == Rule::kWindow) {  // nothing to say
    record.semantic_hash = Mix64(Mix64(static_cast<uint64_t>(call->info->operation), 0), 0);
    return;
  }

  const bool rooted = HasRoot(rule);
  bool is_root = false;
  if (rooted) {
    record.root_or_peer = a.root_or_peer;
    if (inter && a.root_or_peer == abi.root) record.root_or_peer = ring::kRootSelf;
    if (inter && a.root_or_peer == abi.proc_null) record.root_or_peer = ring::kRootNone;
    is_root = inter ? record.root_or_peer == ring::kRootSelf
                    : comm != nullptr && a.root_or_peer == comm->rank;
  }
  const bool uninvolved = record.root_or_peer == ring::kRootNone;
  if (reinterpret_cast<uint64_t>(a.send_buffer) == abi.in_place && a.send_buffer != nullptr) {
    record.flags |= ring::kSendInPlace;
  }
  if (reinterpret_cast<uint64_t>(a.recv_buffer) == abi.in_place && a.recv_buffer != nullptr) {
    record.flags |= ring::kRecvInPlace;
  }
  const bool send_in_place = (record.flags & ring::kSendInPlace) != 0;
  const bool recv_in_place = (record.flags & ring::kRecvInPlace) != 0;

  const auto size =
      comm == nullptr ? 0u : static_cast<uint32_t>(inter ? comm->remote_size : comm->size);
  uint32_t send_blocks = size, recv_blocks = size;
  if (IsNeighbor(rule) && comm != nullptr) {
    send_blocks = static_cast<uint32_t>(comm->outdegree);
    recv_blocks = static_cast<uint32_t>(comm->indegree);
  }
  const Counts send_counts{a.send_counts, a.large, send_blocks};
  const Counts recv_counts{a.recv_counts, a.large, recv_blocks};

  uint64_t agreed = 0;  // besides operation and root
  switch (rule) {
    case Rule::kBcast:
    case Rule::kReduce:
    case Rule::kAllreduce:
    case Rule::kReduceScatterBlock: {
      if (uninvolved) break;
      const Side side = Describe(library, a.recv_count, a.recv_type, a.has_recv_type);
      SetSend(&record, side);
      SetRecv(&record, side);
      // On an intercommunicator the blocks of the two groups add up to the same (MPI 4.0, 6.10).
      if (!inter || rule != Rule::kReduceScatterBlock) agreed = side.signature;
      break;
    }
    case Rule::kReduceScatter: {
      const TypeInfo& type = DescribeType(library, a.recv_type);
      record.recv_datatype = record.send_datatype = type.index;
      // A block for each of the own group, on an intercommunicator too; the other group's blocks
      // may be other ones (MPI 4.0, 6.10.2).
      const Counts counts{a.recv_counts, a.large,
                          comm == nullptr ? 0u : static_cast<uint32_t>(comm->size)};
      AppendCounts(call, 1, counts, nullptr);
      if (!inter) agreed = HashBlocks(counts, type);
      break;
    }
    case Rule::kGather:
    case Rule::kGatherv: {
      if (uninvolved) break;
      // MPI 4.0, 6.5: the receive arguments are significant at the root only.
      if (!send_in_place && !(inter && is_root)) {
        SetSend(&record, Describe(library, a.send_count, a.send_type, a.has_send_type));
      }
      if (is_root) SetRecv(&record, Describe(library, a.recv_count, a.recv_type, a.has_recv_type));
      if (rule == Rule::kGather) {
        agreed = is_root ? record.recv_signature : record.send_signature;
      } else if (is_root) {
        AppendCounts(call, 1, recv_counts, nullptr);
      }
      break;
    }
    case Rule::kScatter:
    case Rule::kScatterv: {
      if (uninvolved) break;
      if (is_root) SetSend(&record, Describe(library, a.send_count, a.send_type, a.has_send_type));
      if (!recv_in_place && !(inter && is_root)) {
        SetRecv(&record, Describe(library, a.recv_count, a.recv_type, a.has_recv_type));
      }
      if (rule == Rule::kScatter) {
        agreed = is_root ? record.send_signature : record.recv_signature;
      } else if (is_root) {
        AppendCounts(call, 0, send_counts, nullptr);
      }
      break;
    }
    case Rule::kAllgather:
    case Rule::kAlltoall:
    case Rule::kNeighborAllgather:
    case Rule::kNeighborAlltoall: {
      if (!send_in_place)
        SetSend(&record, Describe(library, a.send_count, a.send_type, a.has_send_type));
      SetRecv(&record, Describe(library, a.recv_count, a.recv_type, a.has_recv_type));
      // Neighborhoods agree edge by edge, the two sides of an intercommunicator crosswise.
      if (!IsNeighbor(rule) && !inter) agreed = record.recv_signature;
      break;
    }
    case Rule::kAllgatherv:
    case Rule::kNeighborAllgatherv: {
      if (!send_in_place)
        SetSend(&record, Describe(library, a.send_count, a.send_type, a.has_send_type));
      const TypeInfo& type = DescribeType(library, a.recv_type);
      record.recv_datatype = type.index;
      AppendCounts(call, 1, recv_counts, nullptr);
      if (!IsNeighbor(rule) && !inter) agreed = HashBlocks(recv_counts, type);
      break;
    }
    case Rule::kAlltoallv:
    case Rule::kNeighborAlltoallv: {
      if (!send_in_place) {
        record.send_datatype = DescribeType(library, a.send_type).index;
        AppendCounts(call, 0, send_counts, nullptr);
      }
      record.recv_datatype = DescribeType(library, a.recv_type).index;
      AppendCounts(call, 1, recv_counts, nullptr);
      break;
    }
    case Rule::kAlltoallw:
    case Rule::kNeighborAlltoallw: {
      if (!send_in_place) AppendCounts(call, 0, send_counts, a.send_types);
      AppendCounts(call, 1, recv_counts, a.recv_types);
      break;
    }
    default:
      break;
  }
  if (rule == Rule::kReduce || rule == Rule::kAllreduce || rule == Rule::kReduceScatter ||
      rule == Rule::kReduceScatterBlock) {
    record.reduce_op = ReduceOpOf(*library, a.op);
  }
  // What MPI wants equal on all ranks, and nothing else: an innocent difference here would be a
  // false alarm before anything hangs.
  uint64_t hash = Mix64(static_cast<uint64_t>(call->info->operation), record.reduce_op);
  if (rooted && !inter) hash = Mix64(hash, static_cast<uint64_t>(record.root_or_peer) + 1);
  record.semantic_hash = Mix64(hash, inter ? 0 : agreed);
}

}  // namespace rollcall::shim::calls
