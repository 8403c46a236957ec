// SPDX-License-Identifier: Apache-2.0
#include "collector/model/values.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace rollcall {
namespace {

// Without the sign of zero and of NaN: numbers that do not differ for the program have one text.
std::string FloatText(uint64_t bits) {
  const auto number = std::bit_cast<double>(bits);
  if (std::isnan(number)) return "nan";
  return fmt::format("{}", number == 0 ? 0.0 : number);
}

}  // namespace

std::string Variable::Text(Language language) const {
  switch (kind) {
    case Kind::kInteger:
      return enumerator.empty() ? fmt::format("{}", static_cast<int64_t>(bits)) : enumerator;
    case Kind::kFloat:
      return FloatText(bits);
    case Kind::kBool:
      if (language == Language::kPython) return bits == 0 ? "False" : "True";
      return bits == 0 ? "false" : "true";
    case Kind::kNone:
      return "None";
    case Kind::kLength:
      return fmt::format("of length {}", bits);
    case Kind::kPointer:
      return bits == 0 ? "null" : "not null";
    case Kind::kLost:
    case Kind::kComputed:
      break;
  }
  return "unknown";
}

bool RecordedValue::Equals(const RecordedValue& other) const {
  if (type == other.type && bits == other.bits) return true;
  if (type == ring::ValueType::kFloat && other.type == type) {
    return FloatText(bits) == FloatText(other.bits);
  }
  const auto integer = [](const RecordedValue& value) {
    return value.type == ring::ValueType::kSigned || value.type == ring::ValueType::kUnsigned;
  };
  // The types of an integer may differ, as `size_t` and `int` do. Equal bits are then equal numbers
  // unless the sign bit is set.
  return integer(*this) && integer(other) && bits == other.bits && static_cast<int64_t>(bits) >= 0;
}

std::string RecordedValue::Text() const {
  switch (type) {
    case ring::ValueType::kSigned:
      return fmt::format("{}", static_cast<int64_t>(bits));
    case ring::ValueType::kUnsigned:
      return fmt::format("{}", bits);
    case ring::ValueType::kFloat:
      return FloatText(bits);
    case ring::ValueType::kHash:
      return fmt::format("bytes with hash {:08x}", bits >> 32);
    case ring::ValueType::kNone:
      break;
  }
  return "unknown";
}

}  // namespace rollcall
