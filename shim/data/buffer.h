// SPDX-License-Identifier: Apache-2.0
// Reads a buffer of the application for a ring::DataRecord. Pure functions: no allocation, no lock.
#ifndef ROLLCALL_SHIM_DATA_BUFFER_H_
#define ROLLCALL_SHIM_DATA_BUFFER_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/data/type_map.h"
#include "shim/data/words.h"

namespace rollcall::shim {

struct HowToRead {
  uint64_t sample = 0;  // the number of words to read of a larger buffer; 0: all words
  uint64_t sequence = 0;
  Scan scan = Scan::kNone;
  bool count_distinct = false;
  bool keep_parts = true;  // store ring::DataPieces::kParts for a large buffer that is read whole
};

// Fills the fields of `record` from `reading` on, without `call_path` and `name`; the caller fills
// the others.
void ReadBuffer(const TypedBuffer& buffer, const HowToRead& how, ring::DataRecord* record);

// HashFingerprint() of the words that are read.
uint64_t HashBuffer(const TypedBuffer& buffer, const HowToRead& how);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_DATA_BUFFER_H_
