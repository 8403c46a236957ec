// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/records.h"

#include "proto/datatypes.h"
#include "proto/signature.h"
#include "shim/block.h"

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

// Operations that only move data are compared by bytes: 4 floats match 4 ints.
uint64_t SignatureOf(Operation operation, const BasicTypeInfo& type, uint64_t count) {
  if (type.number == 0) return 0;
  if (Reduces(operation)) return UniformSignature(static_cast<uint32_t>(type.type_class), count);
  return UniformSignature(static_cast<uint32_t>(TypeClass::kByte), count * type.bytes);
}

}  // namespace

void FillRecord(const OperationInfo& info, const Arguments& a, ring::Record* record) {
  const BasicTypeInfo& type = TypeOf(a.datatype);
  FillBlock(info,
            {.count = a.count,
             .datatype = type.number,
             .signature = SignatureOf(info.operation, type, a.count),
             .root_or_peer = a.root_or_peer,
             .reduce_op = Reduces(info.operation) ? ReduceOpOf(a.op) : uint16_t{0}},
            record);
}

}  // namespace rollcall::shim::nccl
