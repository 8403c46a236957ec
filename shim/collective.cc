// SPDX-License-Identifier: Apache-2.0
// Fills the record of a collective: its arguments, and a hash of the arguments that must be equal
// on all ranks.
#include <cstring>

#include "proto/signature.h"
#include "shim/call.h"
#include "shim/datatypes.h"
#include "shim/platform.h"

namespace rollcall::shim::calls {
namespace {

uint16_t ReduceOpOf(const Library& library, Word word) {
  const uint64_t handle = library.Handle(word);
  const auto is = [&](uint16_t op) {
    return handle == library.reduce_ops[op] || handle == library.reduce_ops_copied[op];
  };
  constexpr auto kSum = static_cast<uint16_t>(ReduceOp::kSum);  // the most frequent one
  constexpr auto kUser = static_cast<uint16_t>(ReduceOp::kUser);
  if (handle == 0) return kUser;
  if (is(kSum)) return kSum;
  for (uint16_t op = 1; op < 16; ++op) {
    if (is(op)) return op;
  }
  return kUser;
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

// Writes the array as continuation records, which precede the record itself. With `types`
// (w-collectives), the values are signatures of (count, type).
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
          types == nullptr || counts[at] == 0  // the type of 0 elements may be anything
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

// Returns the hash of count arguments that must be equal on all ranks: the sizes of the blocks in
// order, in basic elements. 0 if unknown.
uint64_t HashBlocks(const Counts& counts, const TypeInfo& type) {
  if (counts.values == nullptr || type.uniform == 0) return 0;
  uint64_t hash = type.uniform;
  for (uint32_t i = 0; i < counts.size; ++i) hash = Mix64(hash, counts[i] * type.basics);
  return hash;
}

// Records one collective call. The Record...() functions (proto/matching_rules.def) return a hash
// of the data arguments that must be equal on all ranks. 0: there are none, or they are unknown.
class CollectiveRecorder {
 public:
  CollectiveRecorder(Call* call, const Arguments& arguments)
      : call_(call),
        record_(call->record),
        a_(arguments),
        library_(call->library),
        comm_(call->comm),
        rule_(call->info->rule),
        inter_(comm_ != nullptr && comm_->inter()) {}

  void Fill() {
    const bool rooted = HasRoot(rule_);
    if (rooted) FillRoot();
    FillInPlace();
    // MPI 4.0, 6.2.3: in the root's group of an intercommunicator, ranks that pass MPI_PROC_NULL
    // are not involved.
    const bool uninvolved = rooted && record_.root_or_peer == ring::kRootNone;
    const uint64_t agreed = uninvolved ? 0 : FillData();
    if (Reduces(rule_)) record_.reduce_op = ReduceOpOf(*library_, a_.op);
    // The hash covers only arguments that MPI requires to be equal on all ranks. A legal difference
    // would cause a false alarm, even in a job that does not hang.
    uint64_t hash = Mix64(static_cast<uint64_t>(call_->info->operation), record_.reduce_op);
    if (rooted && !inter_) hash = Mix64(hash, static_cast<uint64_t>(record_.root_or_peer) + 1);
    record_.semantic_hash = Mix64(hash, inter_ ? 0 : agreed);
  }

 private:
  uint64_t FillData() {
    switch (rule_) {
#define RULE(name, record, ...) \
  case Rule::k##name:           \
    return Record##record();
#include "proto/matching_rules.def"
#undef RULE
    }
    return 0;
  }

  void FillRoot() {
    const Abi& abi = library_->abi;
    record_.root_or_peer = a_.root_or_peer;
    if (inter_ && a_.root_or_peer == abi.root) record_.root_or_peer = ring::kRootSelf;
    if (inter_ && a_.root_or_peer == abi.proc_null) record_.root_or_peer = ring::kRootNone;
    is_root_ = inter_ ? record_.root_or_peer == ring::kRootSelf
                      : comm_ != nullptr && a_.root_or_peer == comm_->rank;
  }

  void FillInPlace() {
    const uint64_t in_place = library_->abi.in_place;
    if (reinterpret_cast<uint64_t>(a_.send_buffer) == in_place && a_.send_buffer != nullptr) {
      record_.flags |= ring::kSendInPlace;
    }
    if (reinterpret_cast<uint64_t>(a_.recv_buffer) == in_place && a_.recv_buffer != nullptr) {
      record_.flags |= ring::kRecvInPlace;
    }
  }

  bool Sends() const { return (record_.flags & ring::kSendInPlace) == 0; }
  bool Receives() const { return (record_.flags & ring::kRecvInPlace) == 0; }
  Side SendSide() const {
    if (!a_.has_send_type) return {};
    return DescribeSide(call_->log->sides, library_, a_.send_count, a_.send_type);
  }
  Side RecvSide() const {
    if (!a_.has_recv_type) return {};
    return DescribeSide(call_->log->sides, library_, a_.recv_count, a_.recv_type);
  }

  // The number of processes that the caller exchanges blocks with.
  uint32_t Blocks(bool outgoing) const {
    if (comm_ == nullptr) return 0;
    if (IsOnTopology(rule_)) {
      return static_cast<uint32_t>(outgoing ? comm_->outdegree : comm_->indegree);
    }
    return static_cast<uint32_t>(inter_ ? comm_->remote_size : comm_->size);
  }
  Counts SendCounts() const { return {a_.send_counts, a_.large, Blocks(true)}; }
  Counts RecvCounts() const { return {a_.recv_counts, a_.large, Blocks(false)}; }
  void AppendSendCounts(const void* types = nullptr) {
    AppendCounts(call_, 0, SendCounts(), types);
  }
  void AppendRecvCounts(const void* types = nullptr) {
    AppendCounts(call_, 1, RecvCounts(), types);
  }

  static uint64_t RecordNothing() { return 0; }

  uint64_t RecordBuffer() {
    const Side side = RecvSide();
    side.SetSend(&record_);
    side.SetRecv(&record_);
    return side.signature;
  }

  uint64_t RecordReduceScatter() {
    const TypeInfo& type = DescribeType(library_, a_.recv_type);
    record_.recv_datatype = record_.send_datatype = type.index;
    // There is one block per rank of the local group, also on an intercommunicator. The remote
    // group's blocks may differ (MPI 4.0, 6.10.2).
    const Counts counts{a_.recv_counts, a_.large,
                        comm_ == nullptr ? 0u : static_cast<uint32_t>(comm_->size)};
    AppendCounts(call_, 1, counts, nullptr);
    return inter_ ? 0 : HashBlocks(counts, type);
  }

  uint64_t RecordGather() {
    // MPI 4.0, 6.5: the receive arguments are significant at the root only.
    if (Sends() && !(inter_ && is_root_)) SendSide().SetSend(&record_);
    if (is_root_) RecvSide().SetRecv(&record_);
    if (rule_ == Rule::kGather) return is_root_ ? record_.recv_signature : record_.send_signature;
    if (is_root_) AppendRecvCounts();
    return 0;
  }

  uint64_t RecordScatter() {
    if (is_root_) SendSide().SetSend(&record_);
    if (Receives() && !(inter_ && is_root_)) RecvSide().SetRecv(&record_);
    if (rule_ == Rule::kScatter) return is_root_ ? record_.send_signature : record_.recv_signature;
    if (is_root_) AppendSendCounts();
    return 0;
  }

  // In neighborhood collectives, the two ends of each edge must agree; nothing need be equal on all
  // ranks. On an intercommunicator, one side's sends must agree with the other side's receives.
  uint64_t RecordBlocks() {
    if (Sends()) SendSide().SetSend(&record_);
    RecvSide().SetRecv(&record_);
    return IsOnTopology(rule_) ? 0 : record_.recv_signature;
  }

  uint64_t RecordAllgatherv() {
    if (Sends()) SendSide().SetSend(&record_);
    const TypeInfo& type = DescribeType(library_, a_.recv_type);
    record_.recv_datatype = type.index;
    AppendRecvCounts();
    return IsOnTopology(rule_) || inter_ ? 0 : HashBlocks(RecvCounts(), type);
  }

  uint64_t RecordAlltoallv() {
    if (Sends()) {
      record_.send_datatype = DescribeType(library_, a_.send_type).index;
      AppendSendCounts();
    }
    record_.recv_datatype = DescribeType(library_, a_.recv_type).index;
    AppendRecvCounts();
    return 0;
  }

  uint64_t RecordAlltoallw() {
    if (Sends()) AppendSendCounts(a_.send_types);
    AppendRecvCounts(a_.recv_types);
    return 0;
  }

  Call* const call_;
  ring::Record& record_;
  const Arguments& a_;
  Library* const library_;
  const Comm* const comm_;
  const Rule rule_;
  const bool inter_;
  bool is_root_ = false;
};

}  // namespace

void FillCollective(Call* call, const Arguments& arguments) {
  CollectiveRecorder(call, arguments).Fill();
}

}  // namespace rollcall::shim::calls
