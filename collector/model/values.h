// SPDX-License-Identifier: Apache-2.0
// The values that a program passed to rollcall_value() (rollcall.h), and variables of its frames.
// Plain data.
#ifndef ROLLCALL_COLLECTOR_MODEL_VALUES_H_
#define ROLLCALL_COLLECTOR_MODEL_VALUES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/source_frame.h"
#include "proto/ring_format.h"

namespace rollcall {

// A variable of a frame, as far as its value is plain memory.
struct Variable {
  enum class Kind : uint8_t {
    kInteger,  // of at most 64 bits
    kFloat,
    kBool,
    kNone,
    kLength,   // of a list, tuple, dict, set, str or bytes; the content is not read
    kPointer,  // of C, C++ and Fortran: 0 if it is null, else 1
    kLost,     // of C, C++ and Fortran: optimized out at this place; there is no value
    kComputed  // of Python: an attribute that a function computes; there is no value
  };
  std::string name;
  Kind kind = Kind::kInteger;
  uint64_t bits = 0;  // an integer in two's complement, a double, 0 or 1, a length
  // Shown only if a condition between the ranks' lines names it. The variable is not of the frame
  // itself (a member, a global), or it may not have been assigned yet, or the call in which the
  // thread waits may be writing it.
  bool if_named = false;
  bool outlives = false;  // it is there after the function has returned: a global, a static
  std::string enumerator =
      {};  // of an integer: the name that the program gives the value; or empty

  bool operator==(const Variable&) const = default;
  bool HasValue() const { return kind != Kind::kLost && kind != Kind::kComputed; }
  // "-3", "SLOW", "0.5", "True" (Python) or "true", "None", "of length 3"
  std::string Text(Language language) const;
};

// The names in journals.
inline constexpr std::array<std::string_view, 8> kVariableNames = {
    "integer", "float", "bool", "none", "length", "pointer", "lost", "computed"};

struct VariablesOfFrame {
  SourceFrame frame;
  std::vector<Variable> variables;
};

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
