// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/data_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

namespace rollcall {
namespace {

constexpr uint32_t kWordBytes = 8;

// The size of a part of a complex number, or of the element itself; at most a word.
uint32_t PartBytes(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kC64:
      return 4;
    case TypeClass::kC128:
      return 8;
    default:
      return std::min(ElementBytes(type_class), kWordBytes);
  }
}

uint64_t Mask(uint32_t bytes) {
  return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
}

// The place in the whole buffer of the word that has this index among the words read.
uint64_t PlaceOf(const DataRead& read, uint64_t index) {
  const uint64_t all = (read.bytes + kWordBytes - 1) / kWordBytes;
  if (read.reading != ring::DataReading::kSampled || read.words.words == 0) return index;
  return ring::SampledWord(all, read.words.words, read.sequence + read.start, index);
}

// The position of a floating-point number among all numbers of its type: neighbors differ by 1, and
// the two zeros are equal.
int64_t PositionOf(uint64_t bits, uint32_t bytes) {
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

// One word that differs.
struct WordDifference {
  uint64_t index = 0;      // among those read
  uint64_t change = 0;     // deviating minus agreeing
  uint64_t exclusive = 0;  // deviating xor agreeing
};

// Whether one pair of words has this difference and this exclusive or. Bits that do not differ are
// unknown, and are taken as 0 in both.
bool IsPossible(uint64_t change, uint64_t exclusive) {
  // p + q = exclusive and p - q = change, where p and q are parts of `exclusive`.
  const uint64_t twice = exclusive + change;
  if (exclusive == 0 || (twice & 1) != 0) return false;
  const uint64_t top = uint64_t{1} << 63;
  return (twice >> 1 & ~exclusive & ~top) == 0 &&
         ((twice >> 1 & ~exclusive) == 0 || (exclusive & top) != 0);
}

struct Range {
  uint64_t first = 0;
  uint64_t last = 0;
};

// The range that contains the first word that differs, and whether no word after the range differs.
std::pair<Range, bool> RangeOf(const DataRead& a, const DataRead& b) {
  const uint64_t words = a.words.words;
  if (words == 0) return {{0, 0}, false};
  if (a.piece_kind != ring::DataPieces::kParts || b.piece_kind != ring::DataPieces::kParts) {
    return {{0, words - 1}, true};
  }
  const uint64_t part = (words + ring::kDataPieces - 1) / ring::kDataPieces;
  std::optional<Range> range;
  bool only = true;
  for (uint64_t k = 0; k * part < words; ++k) {
    if (a.pieces[k] == b.pieces[k]) continue;
    if (range) {
      only = false;
      break;
    }
    range = {k * part, std::min(words, (k + 1) * part) - 1};
  }
  return {range.value_or(Range{0, words - 1}), only};
}

constexpr uint64_t kLeastPeriod = 63;

// The word that differs, if the sums are consistent with a change of exactly one word.
std::optional<WordDifference> OnlyWord(const DataRead& a, const DataRead& b, Range range) {
  WordDifference word;
  word.change = a.words.sum - b.words.sum;
  word.exclusive = a.words.exclusive ^ b.words.exclusive;
  const uint64_t weighted = a.words.weighted_sum - b.words.weighted_sum;
  const uint64_t squared = a.words.squared_sum - b.words.squared_sum;
  if (word.change == 0 || !IsPossible(word.change, word.exclusive)) return std::nullopt;
  // j * change = weighted has one solution modulo `period`.
  const int zeros = std::countr_zero(word.change);
  if (std::countr_zero(weighted) < zeros) return std::nullopt;
  const uint64_t odd = word.change >> zeros;
  uint64_t inverse = odd;  // Newton's method: each step doubles the number of correct bits
  for (int step = 0; step < 6; ++step) inverse *= 2 - odd * inverse;
  const uint64_t period_mask = zeros == 0 ? ~uint64_t{0} : (uint64_t{1} << (64 - zeros)) - 1;
  // For changes in the highest bits only, the sums keep too little to find the word.
  if (period_mask < kLeastPeriod || period_mask < range.last - range.first) return std::nullopt;
  const uint64_t solution = (weighted >> zeros) * inverse & period_mask;
  const uint64_t first = range.first + 1;  // j counts from 1
  const uint64_t j = first + ((solution - first) & period_mask);
  if (j < first || j > range.last + 1) return std::nullopt;
  if (j * j * word.change != squared) return std::nullopt;
  word.index = j - 1;
  return word;
}

// Adds the elements of one word to a difference. `is_first`: it is the first word of the
// difference.
void AddWord(const DataRead& read, const WordDifference& word, bool is_first, DataDifference* to) {
  const uint32_t bytes = PartBytes(read.type_class);
  const uint32_t element = ElementBytes(read.type_class);
  uint64_t change = word.change;
  bool first = is_first;
  for (uint32_t at = 0; at < kWordBytes; at += bytes) {
    const uint64_t mask = Mask(bytes);
    const uint64_t flipped = word.exclusive >> (8 * at) & mask;
    const uint64_t part = change & mask;
    const bool negative = (part >> (8 * bytes - 1) & 1) != 0;
    // The element's own change, sign-extended. The rest is the change of the elements above it.
    const uint64_t signed_part = negative ? part | ~mask : part;
    change = bytes == kWordBytes ? 0 : (change - signed_part) >> (8 * bytes);
    if (flipped == 0) continue;
    if (first) {
      to->element = (PlaceOf(read, word.index) * kWordBytes + at) / element;
      to->last = to->element;
      to->flipped = flipped;
      first = false;
    }
    // If the signs differ, the change of the bits does not show the distance.
    const bool same_sign = (flipped >> (8 * bytes - 1) & 1) == 0;
    if (!same_sign) to->has_ulps = false;
    to->ulps = std::max(to->ulps, negative ? (~signed_part + 1) : signed_part);
  }
}

DataDifference OfWords(const DataRead& deviating, const DataRead& agreeing) {
  DataDifference result;
  result.type_class = deviating.type_class;
  result.exact = true;
  result.has_ulps = IsFloatingPoint(deviating.type_class);
  const uint32_t bytes = PartBytes(deviating.type_class);
  const uint32_t element = ElementBytes(deviating.type_class);
  const uint64_t mask = Mask(bytes);
  for (uint64_t k = 0; k < deviating.words.words; ++k) {
    for (uint32_t at = 0; at < kWordBytes; at += bytes) {
      const uint64_t a = deviating.pieces[k] >> (8 * at) & mask;
      const uint64_t b = agreeing.pieces[k] >> (8 * at) & mask;
      if (a == b) continue;
      if (result.flipped == 0) {
        result.element = (PlaceOf(deviating, k) * kWordBytes + at) / element;
        result.last = result.element;
        result.flipped = a ^ b;
        result.has_values = true;
        result.deviating = a;
        result.agreeing = b;
      }
      if (!result.has_ulps) continue;
      const int64_t from = PositionOf(a, bytes);
      const int64_t to = PositionOf(b, bytes);
      const uint64_t distance = from > to ? static_cast<uint64_t>(from) - static_cast<uint64_t>(to)
                                          : static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
      result.ulps = std::max(result.ulps, distance);
    }
  }
  return result;
}

double HalfValue(uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
  if (exponent == 0) return sign * __builtin_ldexp(fraction, -24);
  return sign * __builtin_ldexp(1024 + fraction, exponent - 25);
}

template <typename T, typename Bits>
T As(Bits bits) {
  static_assert(sizeof(T) == sizeof(Bits));
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

uint32_t ElementBytes(TypeClass type_class) {
  for (const BasicTypeInfo& info : kBasicTypes) {
    // Pairs have several sizes.
    if (info.type_class == type_class && type_class != TypeClass::kPair && info.bytes != 0 &&
        type_class != TypeClass::kUnknown && type_class != TypeClass::kLogical) {
      return info.bytes;
    }
  }
  return 1;
}

bool IsFloatingPoint(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kF16:
    case TypeClass::kF32:
    case TypeClass::kF64:
    case TypeClass::kC64:
    case TypeClass::kC128:
    case TypeClass::kBf16:
      return true;
    default:
      return false;
  }
}

bool HasPadding(TypeClass type_class) {
  return type_class == TypeClass::kF80 || type_class == TypeClass::kC160;
}

bool AreComparable(const DataRead& a, const DataRead& b) {
  return a.IsRead() && b.IsRead() && a.reading == b.reading && a.bytes == b.bytes &&
         a.words.words == b.words.words && !HasPadding(a.type_class) && !HasPadding(b.type_class);
}

DataDifference FindDifference(const DataRead& deviating, const DataRead& agreeing) {
  DataRead a = deviating;
  DataRead b = agreeing;
  // The same data may have two types, if one of them is MPI_BYTE.
  if (a.type_class != b.type_class) a.type_class = b.type_class = TypeClass::kUnknown;
  if (a.piece_kind == ring::DataPieces::kWords && b.piece_kind == ring::DataPieces::kWords) {
    return OfWords(a, b);
  }
  DataDifference result;
  result.type_class = a.type_class;
  const auto [range, only] = RangeOf(a, b);
  if (only) {
    if (const std::optional<WordDifference> word = OnlyWord(a, b, range)) {
      result.exact = true;
      result.has_ulps = IsFloatingPoint(a.type_class);
      AddWord(a, *word, true, &result);
      return result;
    }
  }
  const uint32_t element = ElementBytes(a.type_class);
  result.element = PlaceOf(a, range.first) * kWordBytes / element;
  const uint64_t end = std::min(a.bytes, (PlaceOf(a, range.last) + 1) * kWordBytes);
  result.last = std::max<uint64_t>(1, (end + element - 1) / element) - 1;
  return result;
}

bool MayDifferInSignsOnly(const DataRead& a, const DataRead& b) {
  if (!IsFloatingPoint(a.type_class) || a.type_class != b.type_class) return false;
  if (a.piece_kind == ring::DataPieces::kWords) return false;  // FindDifference() is exact then
  const uint32_t bits = 8 * PartBytes(a.type_class);
  uint64_t signs = 0;
  for (uint32_t at = bits; at <= 8 * kWordBytes; at += bits) signs |= uint64_t{1} << (at - 1);
  // All sums change by multiples of the lowest sign.
  const uint64_t below = (uint64_t{1} << (bits - 1)) - 1;
  const Fingerprint& x = a.words;
  const Fingerprint& y = b.words;
  return ((x.exclusive ^ y.exclusive) & ~signs) == 0 && ((x.sum - y.sum) & below) == 0 &&
         ((x.weighted_sum - y.weighted_sum) & below) == 0 &&
         ((x.squared_sum - y.squared_sum) & below) == 0;
}

namespace {

template <typename T>
std::string NumberText(T number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Inf" : "Inf";
  return fmt::format("{}", number);
}

}  // namespace

std::string ValueText(TypeClass type_class, uint64_t bits) {
  switch (type_class) {
    case TypeClass::kF16:
      return NumberText(HalfValue(bits));
    case TypeClass::kBf16:
      return NumberText(As<float>(static_cast<uint32_t>(bits << 16)));
    case TypeClass::kF32:
    case TypeClass::kC64:
      return NumberText(As<float>(static_cast<uint32_t>(bits)));
    case TypeClass::kF64:
    case TypeClass::kC128:
      return NumberText(As<double>(bits));
    case TypeClass::kI8:
      return fmt::format("{}", static_cast<int8_t>(bits));
    case TypeClass::kI16:
      return fmt::format("{}", static_cast<int16_t>(bits));
    case TypeClass::kI32:
      return fmt::format("{}", static_cast<int32_t>(bits));
    case TypeClass::kI64:
      return fmt::format("{}", static_cast<int64_t>(bits));
    case TypeClass::kU8:
    case TypeClass::kU16:
    case TypeClass::kU32:
    case TypeClass::kU64:
      return fmt::format("{}", bits);
    default:
      return fmt::format("{:#x}", bits);
  }
}

}  // namespace rollcall
