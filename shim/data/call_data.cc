// SPDX-License-Identifier: Apache-2.0
#include "shim/data/call_data.h"

#include <cstring>

#include "shim/data/annotations.h"
#include "shim/data/buffer.h"
#include "shim/data/data_log.h"
#include "shim/data/device_memory.h"
#include "shim/data/settings.h"
#include "shim/datatypes.h"
#include "shim/process.h"

namespace rollcall::shim::data {
namespace {

using ring::DataReading;
using ring::DataSide;
using ring::Unread;

// A buffer, or the blocks of it that are exchanged with the members. Only `form` is always
// initialized, as in Call: clearing the whole struct for each call would take longer than reading a
// small buffer.
struct Side {
  enum class Form : uint8_t { kNone, kOne, kEqualBlocks, kCountedBlocks, kTypedBlocks };
  Form form;
  TypedBuffer buffer;  // count is that of one block; 0 for kCountedBlocks and kTypedBlocks
  // kCountedBlocks and kTypedBlocks:
  bool large;  // counts are MPI_Count, displacements MPI_Aint
  const void* counts;
  const void* displacements;  // in elements; typed blocks: in bytes
  const void* types;          // typed blocks: handles
};

struct CallFacts {
  Comm* comm = nullptr;
  uint32_t comm_uid = 0;
  Library* library = nullptr;
  Rule rule = Rule::kNone;
  uint16_t operation = 0;
  uint16_t reduce_op = 0;
  uint16_t datatype = 0;
  uint32_t call_path = 0;
  uint64_t start_ticks = 0;
  uint64_t sequence = 0;
  uint64_t start = 0;      // of a persistent collective
  uint64_t request = 0;    // uid of its request
  bool host_only = false;  // Call::host_only
  bool complete = false;   // the result was read (MPI_Request_get_status may precede the Wait)
};

// The buffers of a call that are read.
struct CallData : CallFacts {
  Side input;
  Side result;
  Side input_blocks;
  Side result_blocks;
};

// The calls of requests, by the requests' slots.
constinit CallData g_of_request[kMaxRequests] = {};

// The form of the blocks that the members exchange; kNone if there are none.
Side::Form BlocksOf(Rule rule) {
  switch (rule) {
    case Rule::kGather:
    case Rule::kScatter:
    case Rule::kAllgather:
    case Rule::kAlltoall:
      return Side::Form::kEqualBlocks;
    case Rule::kGatherv:
    case Rule::kScatterv:
    case Rule::kAllgatherv:
    case Rule::kAlltoallv:
      return Side::Form::kCountedBlocks;
    case Rule::kAlltoallw:
      return Side::Form::kTypedBlocks;
    default:
      return Side::Form::kNone;
  }
}

bool HasBlocks(Rule rule) { return BlocksOf(rule) != Side::Form::kNone; }

bool IsRead(Rule rule) {
  switch (rule) {
    case Rule::kBcast:
    case Rule::kReduce:
    case Rule::kAllreduce:
    case Rule::kScan:
    case Rule::kReduceScatter:
    case Rule::kReduceScatterBlock:
      return true;
    default:
      return HasBlocks(rule);
  }
}

// True if the results of all members are equal by the standard. False for reductions of the
// program's own operations, which may leave any values in bytes that they do not use.
bool HasEqualResults(const CallData& call) {
  switch (call.rule) {
    case Rule::kAllreduce:
      return call.reduce_op != static_cast<uint16_t>(ReduceOp::kUser);
    case Rule::kBcast:
    case Rule::kAllgather:
    case Rule::kAllgatherv:
      return true;
    default:
      return false;
  }
}

int64_t ValueAt(const void* values, bool large, uint32_t i) {
  return large ? static_cast<const int64_t*>(values)[i] : static_cast<const int*>(values)[i];
}

void Drop(Side* side) { side->form = Side::Form::kNone; }

// Adds `bytes` to an address. Computed as an integer, because the buffer may be MPI_BOTTOM.
const char* Advance(const char* base, int64_t bytes) {
  return reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(base) +
                                       static_cast<uintptr_t>(bytes));
}

TypedBuffer BlockOf(const CallData& call, const Side& side, uint32_t i) {
  TypedBuffer block = side.buffer;
  if (side.form == Side::Form::kEqualBlocks) {
    if (block.map == nullptr) return block;
    block.base = Advance(block.base, i * static_cast<int64_t>(block.count) * block.map->extent);
    return block;
  }
  if (side.counts == nullptr) return block;  // MPI will reject the call
  const int64_t count = ValueAt(side.counts, side.large, i);
  block.count = count < 0 ? 0 : static_cast<uint64_t>(count);
  if (block.count == 0) return block;
  if (side.displacements == nullptr) {
    block.map = nullptr;
    return block;
  }
  int64_t unit = 1;
  if (side.form == Side::Form::kTypedBlocks) {
    block.map = DescribeType(call.library, call.library->At(side.types, i)).map;
  } else if (block.map != nullptr) {
    unit = block.map->extent;
  }
  // Without a buffer, only a type with absolute addresses has data.
  if (block.base == nullptr &&
      (block.map == nullptr || block.map->run_count == 0 || block.map->runs[0].offset == 0)) {
    block.map = nullptr;
    return block;
  }
  block.base = Advance(block.base, ValueAt(side.displacements, side.large, i) * unit);
  return block;
}

// Determines which buffers of a call are significant.
class Describer {
 public:
  Describer(const Call& from, const Arguments& arguments, CallData* call)
      : a_(arguments), library_(from.library), comm_(*from.comm), call_(*call) {
    const ring::Record& record = from.record;
    static_cast<CallFacts&>(call_) = {.comm = from.comm,
                                      .comm_uid = from.comm->uid,
                                      .library = library_,
                                      .rule = from.info->rule,
                                      .operation = record.operation,
                                      .reduce_op = record.reduce_op,
                                      .datatype = record.recv_datatype,
                                      .call_path = record.call_path,
                                      .start_ticks = record.start_ticks,
                                      .sequence = record.sequence,
                                      .request = record.request,
                                      .host_only = from.host_only};
    for (Side* side : {&call_.input, &call_.result, &call_.input_blocks, &call_.result_blocks}) {
      Drop(side);
    }
    send_in_place_ = (record.flags & ring::kSendInPlace) != 0;
    recv_in_place_ = (record.flags & ring::kRecvInPlace) != 0;
    root_ = HasRoot(call_.rule) && a_.root_or_peer == comm_.rank;
  }

  void Describe() {
    const auto size = static_cast<uint64_t>(comm_.size);
    const auto rank = static_cast<uint32_t>(comm_.rank);
    switch (call_.rule) {
      case Rule::kBcast:
        SetOne(&call_.result, a_.buffer, a_.send_count, a_.send_type);
        if (root_) call_.input = call_.result;
        return;
      case Rule::kGather:
      case Rule::kGatherv:
        if (!send_in_place_) SetSent();
        if (root_) SetReceivedBlocks();
        return;
      case Rule::kScatter:
      case Rule::kScatterv:
        if (root_) SetSentBlocks(a_.displs);
        if (!recv_in_place_) SetOne(&call_.result, a_.recv_buffer, a_.recv_count, a_.recv_type);
        return;
      case Rule::kAllgather:
        SetOne(&call_.result, a_.recv_buffer, a_.recv_count * static_cast<int64_t>(size),
               a_.recv_type);
        [[fallthrough]];
      case Rule::kAllgatherv:
        SetReceivedBlocks();
        if (!send_in_place_) return SetSent();
        call_.input.form = Side::Form::kOne;
        call_.input.buffer = BlockOf(call_, call_.result_blocks, rank);
        return;
      case Rule::kAlltoall:
      case Rule::kAlltoallv:
      case Rule::kAlltoallw:
        SetReceivedBlocks();
        if (!send_in_place_) return SetSentBlocks(a_.send_displs);
        call_.input_blocks = call_.result_blocks;
        return;
      default:
        return DescribeReduction(size, rank);
    }
  }

 private:
  void SetBuffer(Side* side, Side::Form form, const void* base, int64_t count, Word type) {
    side->form = form;
    side->buffer = {.base = static_cast<const char*>(base),
                    .map = DescribeType(library_, type).map,
                    .count = count < 0 ? 0 : static_cast<uint64_t>(count)};
  }
  void SetOne(Side* side, const void* base, int64_t count, Word type) {
    SetBuffer(side, Side::Form::kOne, base, count, type);
  }
  void SetSent() { SetOne(&call_.input, a_.send_buffer, a_.send_count, a_.send_type); }
  void SetBlocks(Side* side, const void* base, int64_t count, Word type, const void* counts,
                 const void* displs, const void* types) {
    const Side::Form form = BlocksOf(call_.rule);
    SetBuffer(side, form, base, form == Side::Form::kEqualBlocks ? count : 0, type);
    side->large = a_.large;
    side->counts = counts;
    side->displacements = displs;
    side->types = types;
  }
  void SetSentBlocks(const void* displs) {
    SetBlocks(&call_.input_blocks, a_.send_buffer, a_.send_count, a_.send_type, a_.send_counts,
              displs, a_.send_types);
  }
  void SetReceivedBlocks() {
    SetBlocks(&call_.result_blocks, a_.recv_buffer, a_.recv_count, a_.recv_type, a_.recv_counts,
              a_.displs, a_.recv_types);
  }

  void DescribeReduction(uint64_t size, uint32_t rank) {
    int64_t sent = a_.recv_count, received = a_.recv_count;
    if (call_.rule == Rule::kReduceScatterBlock) sent *= static_cast<int64_t>(size);
    if (call_.rule == Rule::kReduceScatter) {
      if (a_.recv_counts == nullptr) return;  // MPI will reject the call
      sent = 0;
      for (uint32_t i = 0; i < size; ++i) sent += ValueAt(a_.recv_counts, a_.large, i);
      received = ValueAt(a_.recv_counts, a_.large, rank);
    }
    SetOne(&call_.input, send_in_place_ ? a_.recv_buffer : a_.send_buffer, sent, a_.recv_type);
    // MPI 4.1, 6.11.2: MPI_Exscan leaves the first rank's receive buffer undefined.
    const bool exclusive = IsExclusiveScan(static_cast<Operation>(call_.operation));
    if ((call_.rule == Rule::kReduce && !root_) || (exclusive && rank == 0)) return;
    SetOne(&call_.result, a_.recv_buffer, received, a_.recv_type);
  }

  const Arguments& a_;
  Library* const library_;
  const Comm& comm_;
  CallData& call_;
  bool send_in_place_ = false;
  bool recv_in_place_ = false;
  bool root_ = false;
};

// True if the call's data is read when the call is in the scope. Determined once, at entry, for
// Call::reads_data.
bool IsRead(const Call& call) {
  const Comm* comm = call.comm;
  return comm != nullptr && !comm->inter() && comm->size >= 2 && IsRead(call.info->rule) &&
         (comm->flags & (ring::kIsWindow | ring::kIsFile)) == 0;
}

// False if a thread has no log (thread_log.h). The shim does not see that such a thread frees
// datatypes and communicators, and the thread's collectives take no sequence numbers. From then on,
// nothing is read.
bool SeesAllThreads() { return LoadRelaxed(&g_process.header->threads_unrecorded) == 0; }

bool Describe(const Call& from, const Arguments& arguments, CallData* call) {
  if (from.comm == nullptr || !from.reads_data || !SeesAllThreads()) return false;
  Describer(from, arguments, call).Describe();
  // Without the blocks, there is nothing to compare a part with.
  if (HasBlocks(call->rule) && from.comm->size > static_cast<int32_t>(ring::kMaxDataBlocks)) {
    for (Side* side : {&call->input, &call->input_blocks, &call->result_blocks}) Drop(side);
    if (call->rule != Rule::kAllgather) Drop(&call->result);
  }
  // Before the operation is complete, the program may free its datatypes, and Fortran bindings may
  // free the array of them.
  if (from.info->kind != Kind::kCollective && call->rule == Rule::kAlltoallw) {
    Drop(&call->result_blocks);
    if (from.info->kind == Kind::kPersistentCollective) Drop(&call->input_blocks);
  }
  return true;
}

bool IsReadable(const TypedBuffer& buffer) {
  // The first pages are never mapped (vm.mmap_min_addr): an address there is a null pointer, whose
  // data the library does not touch. The last addresses are constants of MPICH, such as
  // MPI_IN_PLACE in a call where it is not allowed.
  const char* first = Advance(buffer.base, buffer.map->runs[0].offset);
  const auto address = reinterpret_cast<uintptr_t>(first);
  return address >= 65536 && address < ~uintptr_t{0} - 65536;
}

// Returns the reason why the buffer must not be read; kNone if it may be read.
DataReading Refusal(const CallData& call, const TypedBuffer& buffer) {
  if (buffer.map == nullptr || !IsReadable(buffer)) return DataReading::kLayout;
  if (call.host_only) return DataReading::kNone;
  // The addresses of a type with absolute addresses may be in several kinds of memory.
  if (buffer.base == nullptr) return DataReading::kDevice;
  return MayRead(Advance(buffer.base, buffer.map->runs[0].offset)) ? DataReading::kNone
                                                                   : DataReading::kDevice;
}

bool IsEmpty(const TypedBuffer& buffer) {
  return buffer.count == 0 || (buffer.map != nullptr && buffer.map->bytes == 0);
}

uint64_t SampleFor(const CallData& call, DataSide side) {
  if (ReadsAll()) return 0;
  // The whole result of an Allgather is compared only with the whole results of other ranks.
  if (call.rule == Rule::kAllgather && side == DataSide::kResult) return ring::kSampledWords;
  return HasBlocks(call.rule) ? ring::SampleOf(static_cast<uint64_t>(call.comm->size))
                              : ring::kSampledWords;
}

HowToRead HowFor(const CallData& call, DataSide side) {
  return {.sample = SampleFor(call, side), .sequence = call.sequence + call.start};
}

template <typename Record>
void FillHead(const CallData& call, DataSide side, Record* record) {
  record->sequence = call.sequence;
  const bool input = side == DataSide::kInput || side == DataSide::kInputBlocks;
  record->ticks = input ? call.start_ticks : Ticks();
  record->member = call.comm_uid;
  record->start = static_cast<uint32_t>(call.start);
  record->side = static_cast<uint16_t>(side);
}

// True if the buffer has no NaN and belongs to a minimum or maximum. Its infinities are neutral
// elements there.
bool IsNeutral(const CallData& call, const ring::DataRecord& record) {
  const auto op = static_cast<ReduceOp>(call.reduce_op);
  return record.nans == 0 && (op == ReduceOp::kMin || op == ReduceOp::kMax);
}

void KeepNonFinite(const CallData& call, const TypedBuffer& buffer, const ring::DataRecord& record,
                   DataLog* log) {
  if ((record.nans | record.infinities) == 0 || IsNeutral(call, record)) return;
  log->KeepFirst(*call.comm, record.side == static_cast<uint16_t>(DataSide::kInput),
                 {.sequence = call.sequence,
                  .ticks = record.ticks,
                  .operation = call.operation,
                  .reduce_op = call.reduce_op,
                  .datatype = call.datatype,
                  .reading = record.reading,
                  .start = record.start,
                  .call_path = call.call_path,
                  .count = buffer.count,
                  .element = record.non_finite,
                  .bits = record.non_finite_bits,
                  .nans = record.nans,
                  .infinities = record.infinities});
}

// The result of reading a buffer.
struct Outcome {
  bool known =
      false;  // the buffer was read and recorded; otherwise the other fields have no meaning
  bool non_finite = false;
  uint64_t hash = 0;
};

Unread WhyOf(DataReading refusal) {
  return refusal == DataReading::kDevice ? Unread::kDevice : Unread::kLayout;
}

Outcome CountAsUnread(const CallData& call, Unread why) {
  CountUnread(*call.comm, why);
  return {};
}

Outcome ReadOne(const CallData& call, DataSide side, const TypedBuffer& buffer) {
  if (IsEmpty(buffer)) return {.known = true};
  ring::DataRecord record;
  memset(&record, 0, sizeof(record));
  FillHead(call, side, &record);
  record.call_path = call.call_path;
  const DataReading refusal = Refusal(call, buffer);
  if (refusal == DataReading::kNone) {
    HowToRead how = HowFor(call, side);
    if (Reduces(call.rule)) {
      how.scan = ScanFor(buffer);
      how.count_distinct = side == DataSide::kInput;
      how.keep_parts = side == DataSide::kResult;  // inputs mostly differ in all parts
    }
    ReadBuffer(buffer, how, &record);
    // The program described the bytes by rollcall_elements().
    if (how.scan != ScanOf(buffer.map->type_class)) {
      record.type_class = static_cast<uint16_t>(ClassOf(how.scan));
    }
  } else {
    record.reading = static_cast<uint16_t>(refusal);
  }
  bool kept = false;
  if (DataLog log; log.held()) {
    log.Append(record);
    KeepNonFinite(call, buffer, record, &log);
    kept = true;
  }
  if (refusal != DataReading::kNone) return CountAsUnread(call, WhyOf(refusal));
  if (!kept) return CountAsUnread(call, Unread::kAtOnce);
  CountRead(*call.comm);
  return {.known = true,
          .non_finite = (record.nans | record.infinities) != 0,
          .hash = HashFingerprint({record.words, record.sum, record.weighted_sum,
                                   record.squared_sum, record.exclusive})};
}

// True if two blocks are received into overlapping memory, which MPI does not allow (MPI 4.1, 6.5):
// the remaining content depends on the order of the blocks. Compares contiguous blocks only,
// because others may interleave.
bool Overlap(const CallData& call, const Side& blocks) {
  uintptr_t begins[ring::kMaxDataBlocks], ends[ring::kMaxDataBlocks];
  uint32_t count = 0;
  for (uint32_t i = 0; i < static_cast<uint32_t>(call.comm->size); ++i) {
    const TypedBuffer block = BlockOf(call, blocks, i);
    if (IsEmpty(block) || block.map == nullptr || !block.map->contiguous()) continue;
    const auto begin = reinterpret_cast<uintptr_t>(block.base);
    const uintptr_t end = begin + block.bytes();
    uint32_t at = count++;  // an insertion sort: the blocks are mostly in order
    for (; at > 0 && begins[at - 1] > begin; --at) {
      begins[at] = begins[at - 1];
      ends[at] = ends[at - 1];
    }
    begins[at] = begin;
    ends[at] = end;
  }
  for (uint32_t i = 1; i < count; ++i) {
    if (ends[i - 1] > begins[i]) return true;
  }
  return false;
}

bool AppendBlocks(const CallData& call, DataSide side, const HowToRead& how, const uint64_t* hashes,
                  uint32_t size) {
  DataLog log;
  if (!log.held()) return false;
  for (uint32_t first = 0; first < size; first += ring::kDataBlocksPerRecord) {
    ring::DataBlocks part;
    memset(&part, 0, sizeof(part));
    FillHead(call, side, &part);
    part.reading =
        static_cast<uint16_t>(how.sample == 0 ? DataReading::kWhole : DataReading::kSampled);
    part.first = static_cast<uint16_t>(first);
    const uint32_t left = size - first;
    part.count = static_cast<uint16_t>(
        left < ring::kDataBlocksPerRecord ? left : ring::kDataBlocksPerRecord);
    memcpy(part.hashes, hashes + first, part.count * sizeof(hashes[0]));
    log.Append(part);
  }
  return true;
}

Outcome ReadBlocks(const CallData& call, DataSide side, const Side& blocks) {
  const auto size = static_cast<uint32_t>(call.comm->size);  // at most kMaxDataBlocks
  if (side == DataSide::kResultBlocks && blocks.form != Side::Form::kEqualBlocks &&
      Overlap(call, blocks)) {
    return CountAsUnread(call, Unread::kLayout);
  }
  const HowToRead how = HowFor(call, side);
  uint64_t hashes[ring::kMaxDataBlocks];
  Outcome outcome{.known = true};
  for (uint32_t i = 0; i < size; ++i) {
    const TypedBuffer block = BlockOf(call, blocks, i);
    hashes[i] = 0;
    if (IsEmpty(block)) continue;
    if (const DataReading refusal = Refusal(call, block); refusal != DataReading::kNone) {
      return CountAsUnread(call, WhyOf(refusal));
    }
    hashes[i] = HashBuffer(block, how);
    outcome.hash = Mix64(outcome.hash, hashes[i]);
  }
  if (!AppendBlocks(call, side, how, hashes, size)) return CountAsUnread(call, Unread::kAtOnce);
  CountRead(*call.comm);
  return outcome;
}

Outcome ReadSide(const CallData& call, DataSide side, DataSide blocks_side, const Side& one,
                 const Side& blocks) {
  Outcome outcome;
  if (blocks.form != Side::Form::kNone) outcome = ReadBlocks(call, blocks_side, blocks);
  if (one.form != Side::Form::kNone) outcome = ReadOne(call, side, one.buffer);
  return outcome;
}

bool HasInput(const CallData& call) {
  return call.input.form != Side::Form::kNone || call.input_blocks.form != Side::Form::kNone;
}
bool HasResult(const CallData& call) {
  return call.result.form != Side::Form::kNone || call.result_blocks.form != Side::Form::kNone;
}

// True if the slot still belongs to the request of the call. Not every collective that takes a slot
// has data, and the communicator may have been freed while a request on it was active.
bool IsAlive(const CallData& call, uint32_t slot) {
  return call.comm != nullptr && call.comm->uid == call.comm_uid &&
         RequestAt(slot).uid == call.request;
}

void Enter(const CallData& call) {
  Comm::Results& results = call.comm->results;
  if (HasEqualResults(call)) __atomic_fetch_add(&results.pending, 1, __ATOMIC_RELAXED);
  ReadSide(call, DataSide::kInput, DataSide::kInputBlocks, call.input, call.input_blocks);
}

void Leave(const CallData& call, bool failed) {
  Comm::Results& results = call.comm->results;
  Outcome outcome;
  if (!failed) {
    outcome =
        ReadSide(call, DataSide::kResult, DataSide::kResultBlocks, call.result, call.result_blocks);
  }
  if (!HasEqualResults(call)) return;
  DataLog log;
  __atomic_fetch_sub(&results.pending, 1, __ATOMIC_RELAXED);
  if (!outcome.known || !log.held()) {
    results.unknown = true;
    return;
  }
  // The bits of a NaN may differ (IEEE 754, 6.2.3).
  const bool compared = !(Reduces(call.rule) && outcome.non_finite);
  log.AddResult(call.comm, call.sequence + (call.start << 40), compared ? outcome.hash : 0);
}

}  // namespace

void BeginCall(Call* call, const Arguments& arguments) {
  call->reads_data = false;
  if (!IsRead(*call)) return;
  if (!SeesAllThreads()) return CountUnread(*call->comm, Unread::kThreads);
  if (!IsInScope(call->info->rule, *call->comm)) return CountOutside(*call->comm);
  call->reads_data = true;
  call->host_only = !HasDriver();
  CallData data;
  if (call->info->kind == Kind::kPersistentCollective) return;
  if (Describe(*call, arguments, &data)) Enter(data);
}

void EndCall(const Call& call, const Arguments& arguments) {
  CallData data;
  if (Describe(call, arguments, &data)) Leave(data, false);
}

void FailCall(const Call& call) {
  if (call.comm != nullptr) call.comm->results.unknown = true;
}

void EnterRequest(const Call& call, const Arguments& arguments, uint32_t slot, uint64_t handle) {
  CallData without_slot;
  CallData& data = slot < kMaxRequests ? g_of_request[slot] : without_slot;
  if (!Describe(call, arguments, &data)) {
    data.comm = nullptr;
    return;
  }
  const bool persistent = call.info->kind == Kind::kPersistentCollective;
  if (slot < kMaxRequests) {
    // A persistent request has no result before its first start. MPI_Request_get_status reports it
    // as complete.
    data.complete = persistent;
    return;
  }
  // Without a slot, the request's starts and completion are not seen.
  const bool complete = !persistent && (handle == call.library->abi.request_null ||
                                        IsCompleteAtOnce(*call.library, handle));
  if (persistent || (!complete && HasResult(data))) CountUnread(*data.comm, Unread::kRequests);
  if (persistent) {
    data.comm->results.unknown = true;
  } else {
    Leave(data, !complete);
  }
}

void StartRequest(uint32_t slot, uint64_t start, const ring::Record& record) {
  CallData& call = g_of_request[slot];
  if (!IsAlive(call, slot)) return;
  if (!SeesAllThreads()) {
    if (HasInput(call)) CountUnread(*call.comm, Unread::kThreads);
    return;
  }
  call.start = start;
  call.start_ticks = record.start_ticks;
  call.complete = false;
  call.call_path = record.call_path;
  Enter(call);
}

void CompleteRequest(uint32_t slot, bool failed) {
  CallData& call = g_of_request[slot];
  if (!IsAlive(call, slot) || call.complete) return;
  call.complete = true;
  // A thread without a log may have completed the request, and another request may have its handle
  // now.
  if (!SeesAllThreads()) {
    call.comm->results.unknown = true;
    if (HasResult(call)) CountUnread(*call.comm, Unread::kThreads);
    return;
  }
  Leave(call, failed);
}

}  // namespace rollcall::shim::data
