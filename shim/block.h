// SPDX-License-Identifier: Apache-2.0
// The data of an operation in which every rank passes one block: operations of NCCL and of
// torch.distributed.
#ifndef ROLLCALL_SHIM_BLOCK_H_
#define ROLLCALL_SHIM_BLOCK_H_

#include <cstdint>

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "shim/platform.h"

namespace rollcall::shim {

struct Block {
  uint64_t count = 0;
  uint16_t datatype = 0;   // BasicType; 0: unknown
  uint64_t signature = 0;  // 0: unknown
  int32_t root_or_peer = ring::kNoPeer;
  uint16_t reduce_op = 0;  // ReduceOp
};

// Sets the fields that describe the data, and the hash of what must be equal on all ranks.
inline void FillBlock(const OperationInfo& info, const Block& block, ring::Record* record) {
  if (info.kind != Kind::kIrecv) {
    record->send_count = block.count;
    record->send_datatype = block.datatype;
    record->send_signature = block.signature;
  }
  if (info.kind != Kind::kIsend) {
    record->recv_count = block.count;
    record->recv_datatype = block.datatype;
    record->recv_signature = block.signature;
  }
  record->reduce_op = block.reduce_op;
  const bool rooted = HasRoot(info.rule);
  const bool message = info.rule == Rule::kP2p;
  if (rooted || message) record->root_or_peer = block.root_or_peer;
  if (message) return;
  uint64_t hash = Mix64(static_cast<uint64_t>(info.operation), block.reduce_op);
  if (rooted) hash = Mix64(hash, static_cast<uint64_t>(block.root_or_peer) + 1);
  record->semantic_hash = Mix64(hash, block.signature);
}

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_BLOCK_H_
