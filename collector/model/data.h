// SPDX-License-Identifier: Apache-2.0
// The data that collectives exchanged, as the shim read it (ring_format.h, "The data of
// collectives"): sums and hashes. Only for very small buffers, the data itself.
#ifndef ROLLCALL_COLLECTOR_MODEL_DATA_H_
#define ROLLCALL_COLLECTOR_MODEL_DATA_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/data_words.h"
#include "proto/datatypes.h"
#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall {

// One buffer of a call: ring::DataRecord with references of the Trace. kInput, kResult or kReplica.
struct DataRead {
  uint64_t sequence = 0;  // of the call; replica: number of the call for this name
  uint64_t order = 0;     // increases with every read of the process
  int64_t at_ns = -1;     // kNoTime if unknown
  uint32_t start = 0;     // persistent collective: number of the start, from 1
  uint32_t call_path = 0xffffffff;
  ring::DataSide side = ring::DataSide::kInput;
  ring::DataReading reading = ring::DataReading::kNone;
  ring::DataPieces piece_kind = ring::DataPieces::kNone;
  TypeClass type_class = TypeClass::kUnknown;  // kUnknown also if there are several
  uint16_t distinct = 0;                       // distinct values, counted up to ring::kMaxDistinct
  uint32_t nans = 0;                           // 0 for types that the shim does not scan
  uint32_t infinities = 0;
  uint64_t bytes = 0;
  Fingerprint words;
  uint64_t non_finite = 0;  // index of the basic element with the first NaN or infinity
  uint64_t non_finite_bits = 0;
  std::array<uint64_t, ring::kDataPieces> pieces = {};

  bool IsRead() const {
    return reading == ring::DataReading::kWhole || reading == ring::DataReading::kSampled;
  }
  bool IsFinite() const { return nans == 0 && infinities == 0; }
};

// The blocks that a member sent to each other member, or received from each other member, by rank.
struct BlockHashes {
  uint64_t sequence = 0;
  uint64_t order = 0;  // as DataRead::order
  uint32_t start = 0;
  ring::DataSide side = ring::DataSide::kInputBlocks;
  ring::DataReading reading = ring::DataReading::kWhole;
  std::vector<uint64_t> hashes;  // 0: no data
};

// ring::NonFinite
struct FirstNonFinite {
  uint64_t sequence = 0;
  int64_t at_ns = -1;
  uint32_t start = 0;
  uint32_t call_path = 0xffffffff;
  Operation operation = Operation::kNone;
  uint16_t reduce_op = 0;
  ring::DataReading reading = ring::DataReading::kNone;
  uint32_t datatype = 0xffffffff;  // into Trace::datatypes
  uint64_t count = 0;              // elements of `datatype`
  uint64_t element = 0;
  uint64_t bits = 0;
  uint32_t nans = 0;
  uint32_t infinities = 0;
};

// The data that a member exchanged. `reads` and `blocks` are the newest ones only. All other fields
// count from the start of the job.
struct MemberData {
  std::vector<DataRead> reads;      // oldest first
  std::vector<BlockHashes> blocks;  // oldest first; complete ones only
  // Whether the following fields are known.
  bool counted = false;
  uint64_t read = 0;                    // buffers
  uint64_t unread = 0;                  // buffers not read; also one for each call of `outside`
  uint64_t outside = 0;                 // calls outside --data-scope
  uint32_t unread_why = 0;              // bits: ring::Unread; 0: not known
  std::optional<FirstNonFinite> input;  // of a reduction
  std::optional<FirstNonFinite> result;
  std::vector<ring::DataCheckpoint> checkpoints;
};

// A buffer that the program declares equal on all ranks (rollcall_replica()).
struct ReplicaRead {
  std::string name;
  DataRead data;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_DATA_H_
