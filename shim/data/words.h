// SPDX-License-Identifier: Apache-2.0
// Reads words of a buffer: computes their fingerprint (proto/data_words.h), and detects
// floating-point elements that are NaN or infinite. No allocation, no lock. The only state is the
// choice of instructions, which is made once. Any thread; async-signal-safe.
#ifndef ROLLCALL_SHIM_DATA_WORDS_H_
#define ROLLCALL_SHIM_DATA_WORDS_H_

#include <cstddef>
#include <cstdint>

#include "proto/data_words.h"
#include "proto/datatypes.h"

namespace rollcall::shim {

// The format of the elements, as far as it can be scanned.
enum class Scan : uint8_t { kNone, kF16, kBf16, kF32, kF64 };

// The scan of a complex type is that of its parts. Types that are not scanned have kNone.
Scan ScanOf(TypeClass type_class);
// Bytes of an element; 8 for kNone.
uint32_t BytesOf(Scan scan);

struct WordsRead {
  Fingerprint all;
  bool non_finite = false;  // an element has the exponent of NaN and infinity
};

// Reads `bytes` at any address; the last word is padded with zeros. With `scan`, `bytes` is a
// multiple of the element's size.
WordsRead ReadWords(const void* data, size_t bytes, Scan scan);

// How many of the `bytes` / BytesOf(scan) elements are NaN, how many are infinite, and the first of
// either. All zero for kNone.
struct NonFiniteCount {
  uint64_t nans = 0;
  uint64_t infinities = 0;
  uint64_t first = 0;  // index; valid if there is one
  uint64_t bits = 0;   // of the first
};
NonFiniteCount CountNonFinite(const void* data, size_t bytes, Scan scan);

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_DATA_WORDS_H_
