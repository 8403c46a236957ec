// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

namespace rollcall {
namespace {

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

// Of the types whose numbers can be written; others are written as bits.
size_t WidthOf(TypeClass type) {
  switch (type) {
    case TypeClass::kByte:
    case TypeClass::kChar:
    case TypeClass::kI8:
    case TypeClass::kU8:
    case TypeClass::kBool:
      return 1;
    case TypeClass::kI16:
    case TypeClass::kU16:
    case TypeClass::kF16:
    case TypeClass::kBf16:
      return 2;
    case TypeClass::kI32:
    case TypeClass::kU32:
    case TypeClass::kF32:
    case TypeClass::kC64:
    case TypeClass::kLogical:
      return 4;
    case TypeClass::kI64:
    case TypeClass::kU64:
    case TypeClass::kF64:
    case TypeClass::kC128:
      return 8;
    default:
      return 0;
  }
}

bool IsWrittenAsReal(TypeClass type) {
  return type == TypeClass::kF32 || type == TypeClass::kF64 || type == TypeClass::kC64 ||
         type == TypeClass::kC128;
}

uint64_t Encode(double value, TypeClass type) {
  if (!IsWrittenAsReal(type)) return BitsOf(static_cast<int64_t>(value));
  return WidthOf(type) == 4 ? BitsOf(static_cast<float>(value)) : BitsOf(value);
}

template <typename T>
bool Parse(std::string_view text, T* value, int base = 10) {
  std::from_chars_result end{};
  if constexpr (std::is_same_v<T, double>) {
    end = std::from_chars(text.data(), text.data() + text.size(), *value);
  } else {
    end = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  }
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

// "1.5", "nan", "x7fc00000", "1..64", each with an optional "x3" behind it.
bool AddItem(std::string_view item, TypeClass type, double add, std::vector<uint8_t>* bytes) {
  const size_t width = WidthOf(type);
  uint64_t times = 1;
  const size_t cross = item.find('x', 1);
  if (cross != std::string_view::npos && !Parse(item.substr(cross + 1), &times)) return false;
  item = item.substr(0, cross);
  const auto append = [&](uint64_t bits) {
    const auto* from = reinterpret_cast<const uint8_t*>(&bits);
    bytes->insert(bytes->end(), from, from + width);
  };
  for (uint64_t n = 0; n < times; ++n) {
    const size_t dots = item.find("..");
    uint64_t bits = 0;
    double first = 0;
    double last = 0;
    if (item.starts_with("x")) {
      if (!Parse(item.substr(1), &bits, 16)) return false;
      append(bits);
    } else if (dots != std::string_view::npos) {
      if (!Parse(item.substr(0, dots), &first) || !Parse(item.substr(dots + 2), &last))
        return false;
      for (double value = first; value <= last; ++value) append(Encode(value + add, type));
    } else {
      if (!Parse(item, &first)) return false;
      append(Encode(first + add, type));
    }
  }
  return true;
}

bool IsNan(uint64_t bits, TypeClass type) {
  double value = 0;
  float small = 0;
  std::memcpy(&value, &bits, sizeof(value));
  std::memcpy(&small, &bits, sizeof(small));
  return WidthOf(type) == 4 ? std::isnan(small) : std::isnan(value);
}

bool IsInfinite(uint64_t bits, TypeClass type) {
  double value = 0;
  float small = 0;
  std::memcpy(&value, &bits, sizeof(value));
  std::memcpy(&small, &bits, sizeof(small));
  return WidthOf(type) == 4 ? std::isinf(small) : std::isinf(value);
}

// Elements of the word with this index, counted in the buffer.
void Scan(uint64_t word, uint64_t index, uint64_t bytes, TypeClass type, DataRead* read) {
  const size_t width = WidthOf(type);
  if (!IsWrittenAsReal(type)) return;
  for (size_t at = 0; at < 8 && index * 8 + at < bytes; at += width) {
    const uint64_t bits = width == 8 ? word : word >> (8 * at) & 0xffffffff;
    const bool nan = IsNan(bits, type);
    if (!nan && !IsInfinite(bits, type)) continue;
    if (read->IsFinite()) {
      read->non_finite = (index * 8 + at) / width;
      read->non_finite_bits = bits;
    }
    ++(nan ? read->nans : read->infinities);
  }
}

}  // namespace

std::optional<std::vector<uint8_t>> DataBytes(const std::string& text, TypeClass type, double add) {
  std::vector<uint8_t> bytes;
  if (WidthOf(type) == 0) return std::nullopt;
  if (text.empty() || text == "none") return bytes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (!AddItem(std::string_view(text).substr(begin, end - begin), type, add, &bytes)) {
      return std::nullopt;
    }
    begin = end + 1;
  }
  return bytes;
}

DataRead ReadBytes(const std::vector<uint8_t>& bytes, TypeClass type, uint64_t sequence,
                   bool sampled, uint64_t sample) {
  DataRead read;
  std::vector<uint64_t> words((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  read.sequence = sequence;
  read.bytes = bytes.size();
  read.type_class = type;
  const bool some = sampled && words.size() > sample;
  read.reading = some ? ring::DataReading::kSampled : ring::DataReading::kWhole;
  const uint64_t count = some ? sample : words.size();
  const uint64_t part = (count + ring::kDataPieces - 1) / ring::kDataPieces;
  read.piece_kind = count <= ring::kDataPieces ? ring::DataPieces::kWords
                    : sampled                  ? ring::DataPieces::kNone
                                               : ring::DataPieces::kParts;
  std::set<uint64_t> distinct;
  Fingerprint piece;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t index = some ? ring::SampledWord(words.size(), sample, sequence, k) : k;
    const uint64_t word = words[index];
    if (distinct.size() < ring::kMaxDistinct) distinct.insert(word);
    Scan(word, index, bytes.size(), type, &read);
    const Fingerprint one{1, word, word, word, word};
    read.words = read.words + one;
    if (read.piece_kind == ring::DataPieces::kWords) {
      read.pieces[k] = word;
    } else if (read.piece_kind == ring::DataPieces::kParts) {
      piece = piece + one;
      if (piece.words == part || k + 1 == count) {
        read.pieces[k / part] = HashFingerprint(piece);
        piece = {};
      }
    }
  }
  read.distinct = static_cast<uint16_t>(distinct.size());
  return read;
}

}  // namespace rollcall
