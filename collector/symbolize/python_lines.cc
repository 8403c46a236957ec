// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/python_lines.h"

#include <cstddef>
#include <limits>

namespace rollcall {
namespace {

constexpr uint32_t kCodeUnitBytes = 2;

int Valid(int64_t line) {
  return line > 0 && line <= std::numeric_limits<int>::max() ? static_cast<int>(line) : 0;
}

uint8_t ByteAt(std::string_view table, size_t i) { return static_cast<uint8_t>(table[i]); }

// The table has pairs: a step in bytes, then the change of the line.
int LineByNotab(std::string_view table, int64_t line, uint64_t offset) {
  uint64_t at = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    at += ByteAt(table, i);
    if (at > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return Valid(line);
}

// The table has pairs: a number of bytes, and the change that gives their line. A change of -128
// means that these bytes have no line.
int LineByRanges(std::string_view table, int64_t line, uint64_t offset) {
  constexpr int8_t kNoLine = -128;
  uint64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto change = static_cast<int8_t>(table[i + 1]);
    if (change != kNoLine) line += change;
    end += ByteAt(table, i);
    if (offset < end) return change == kNoLine ? 0 : Valid(line);
  }
  return 0;
}

// Reads numbers in pieces of six bits, lowest first; bit 6 means that more follow.
struct Reader {
  std::string_view table;
  size_t next = 0;
  bool failed = false;

  uint8_t Byte() {
    if (next < table.size()) return ByteAt(table, next++);
    failed = true;
    return 0;
  }
  uint32_t Varint() {
    uint32_t value = 0;
    uint32_t shift = 0;
    for (;;) {
      const uint8_t byte = Byte();
      if (shift < 32) value |= static_cast<uint32_t>(byte & 63) << shift;
      shift += 6;
      if ((byte & 64) == 0 || failed) return value;
    }
  }
  // The lowest bit is the sign.
  int64_t SignedVarint() {
    const uint32_t value = Varint();
    const int64_t magnitude = value >> 1;
    return (value & 1) != 0 ? -magnitude : magnitude;
  }
};

// Entries of 1 to 8 code units. The first byte: bit 7 set, four bits of form, length - 1. Columns
// are skipped.
int LineByLocations(std::string_view table, int64_t line, uint64_t offset) {
  enum Form : uint8_t { kOneLineFirst = 10, kOneLineLast = 12, kNoColumns = 13, kLong = 14, kNone };
  Reader reader{table};
  uint64_t end = 0;
  while (reader.next < table.size()) {
    const uint8_t first = reader.Byte();
    const uint8_t form = (first >> 3) & 15;
    end += uint64_t{(first & 7u) + 1} * kCodeUnitBytes;
    if (form == kLong) {
      line += reader.SignedVarint();
      for (int field = 0; field < 3; ++field) reader.Varint();  // last line, both columns
    } else if (form == kNoColumns) {
      line += reader.SignedVarint();
    } else if (form >= kOneLineFirst && form <= kOneLineLast) {
      line += form - kOneLineFirst;
      reader.Byte();
      reader.Byte();
    } else if (form != kNone) {
      reader.Byte();
    }
    if ((first & 128) == 0 || reader.failed) return 0;
    if (offset < end) return form == kNone ? 0 : Valid(line);
  }
  return 0;
}

}  // namespace

int PythonLine(uint32_t version, std::string_view table, uint32_t first_line, uint32_t offset) {
  if (version < (3 << 8 | 10)) return LineByNotab(table, first_line, offset);
  if (version == (3 << 8 | 10)) return LineByRanges(table, first_line, offset);
  return LineByLocations(table, first_line, offset);
}

}  // namespace rollcall
