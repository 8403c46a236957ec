#include "shim/nccl/records.h"

#include "proto/datatypes.h"
#include "proto/signature.h"
#include "shim/platform.h"

namespace rollcall::shim::nccl {
namespace {

// ncclDataType_t: ncclInt8 is 0 in all versions, and the list has only grown.
constexpr int kNcclTypes = 12;
struct TypeTable {
  BasicTypeInfo row[kNcclTypes];
  constexpr TypeTable() : row{} {
    for (int i = 0; i < kNcclTypes; ++i) {
      row[i] = FindBasicType(static_cast<uint16_t>(static_cast<int>(BasicType::kncclInt8) + i));
    }
  }
};
constexpr TypeTable kTypes;
constexpr BasicTypeInfo kUnknownType;

const BasicTypeInfo& TypeOf(int datatype) {
  return datatype < 0 || datatype >= kNcclTypes ? kUnknownType : kTypes.row[datatype];
}

// ncclRedOp_t: sum, prod, max, min, avg (2.10); then those that the program created.
uint16_t ReduceOpOf(int op) {
  if (op < 0) return 0;
  if (op <= 4) return static_cast<uint16_t>(static_cast<int>(ReduceOp::kNcclSum) + op);
  return static_cast<uint16_t>(ReduceOp::kUser);
}

bool Reduces(Operation operation) {
  return operation == Operation::kNcclAllReduce || operation == Operation::kNcclReduce ||
         operation == Operation::kNcclReduceScatter;
}

// Operations that only move data match by bytes: 4 floats match 4 ints.
uint64_t SignatureOf(Operation operation, const BasicTypeInfo& type, uint64_t count) {
  if (type.number == 0) return 0;
  if (Reduces(operation)) return UniformSignature(static_cast<uint32_t>(type.type_class), count);
  return UniformSignature(static_cast<uint32_t>(TypeClass::kByte), count * type.bytes);
}

}  // namespace

void FillRecord(const OperationInfo& info, const Arguments& a, ring::Record* record) {
  const BasicTypeInfo& type = TypeOf(a.datatype);
  const uint64_t signature = SignatureOf(info.operation, type, a.count);
  const bool sends = info.kind != Kind::kIrecv;
  const bool receives = info.kind != Kind::kIsend;
  if (sends) {
    record->send_count = a.count;
    record->send_datatype = type.number;
    record->send_signature = signature;
  }
  if (receives) {
    record->recv_count = a.count;
    record->recv_datatype = type.number;
    record->recv_signature = signature;
  }
  const bool rooted = info.rule == Rule::kBcast || info.rule == Rule::kReduce;
  if (rooted || info.rule == Rule::kP2p) record->root_or_peer = a.root_or_peer;
  if (Reduces(info.operation)) record->reduce_op = ReduceOpOf(a.op);
  if (info.rule == Rule::kP2p) return;
  uint64_t hash = Mix64(static_cast<uint64_t>(info.operation), record->reduce_op);
  if (rooted) hash = Mix64(hash, static_cast<uint64_t>(a.root_or_peer) + 1);
  record->semantic_hash = Mix64(hash, signature);
}

}  // namespace rollcall::shim::nccl
