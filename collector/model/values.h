// SPDX-License-Identifier: Apache-2.0
// The values that a program passed to rollcall_value() (rollcall.h). Plain data.
#ifndef ROLLCALL_COLLECTOR_MODEL_VALUES_H_
#define ROLLCALL_COLLECTOR_MODEL_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/ring_format.h"

namespace rollcall {

struct RecordedValue {
  uint64_t number = 0;  // of the call with this name, from 1
  int64_t at_ns = -1;   // kNoTime if unknown
  uint32_t call_path = UINT32_MAX;
  ring::ValueType type = ring::ValueType::kNone;
  uint64_t bits = 0;

  // Whether both are the same number, or the hashes of equal bytes.
  bool Equals(const RecordedValue& other) const;
  // "-3", "0.5", "bytes with hash 1f3a9c0e"
  std::string Text() const;
};

// The values of one name.
struct NamedValues {
  std::string name;
  std::vector<RecordedValue> recent;  // by increasing number, without gaps; the last ones
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MODEL_VALUES_H_
