// SPDX-License-Identifier: Apache-2.0
// The weighted sums are computed without multiplications, because SSE2, AVX2 and NEON have no
// 64-bit multiplication. For each of K words x(0) .. x(K-1), the loop does A += x, B += A, C += B.
// With m = K - k, the results are:
//   A = sum of x(k),  B = sum of m x(k),  C = sum of m(m+1)/2 x(k).
// Therefore 2C - B = sum of m^2 x(k). The sums that are weighted by the index follow from these,
// because the index is a constant minus m (LanesToWords). A lane of a vector does this for every
// kLanes-th word.
//
// An element is NaN or infinite if all bits of its exponent are set. The loop adds the lowest bit
// of the exponent to the exponent: the addition carries into the place of the sign exactly if all
// bits are set.
#include "shim/data/words.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <iterator>

#include "shim/data/words_internal.h"

namespace rollcall::shim {
namespace {

static_assert(std::endian::native == std::endian::little);

using Byte = unsigned char;
constexpr size_t kWordBytes = sizeof(uint64_t);

// For shorter buffers, adding the lanes costs more than the lanes save.
constexpr size_t kShortBytes = 128;

// The exponents of a word's elements. All zero if there is nothing to look for.
struct Exponents {
  uint64_t bits;
  uint64_t lowest;

  constexpr uint64_t Carries() const { return bits + lowest; }  // into the places of the signs
};

// The size of an element, and its exponent.
struct Format {
  uint32_t bytes;
  uint64_t exponent;

  constexpr uint64_t LowestBit() const { return exponent & -exponent; }
  constexpr Exponents InWord() const {
    // One element's lowest bit for each element of a word.
    const uint64_t every = bytes == 2   ? 0x0001'0001'0001'0001
                           : bytes == 4 ? 0x0000'0001'0000'0001
                                        : 1;
    return {exponent * every, LowestBit() * every};
  }
};
constexpr Format kFormats[] = {{8, 0},  // Scan::kNone
                               {2, 0x7c00},
                               {2, 0x7f80},
                               {4, 0x7f80'0000},
                               {8, 0x7ff0'0000'0000'0000}};
static_assert(std::size(kFormats) == static_cast<size_t>(Scan::kF64) + 1);

constexpr Exponents kExponents[] = {kFormats[0].InWord(), kFormats[1].InWord(),
                                    kFormats[2].InWord(), kFormats[3].InWord(),
                                    kFormats[4].InWord()};

const Format& FormatOf(Scan scan) { return kFormats[static_cast<size_t>(scan)]; }
const Exponents& ExponentsOf(Scan scan) { return kExponents[static_cast<size_t>(scan)]; }

uint64_t WordAt(const Byte* data) {
  uint64_t word;
  memcpy(&word, data, sizeof word);
  return word;
}

WordsRead ReadScalar(const void* data, size_t bytes, Scan scan) {
  const Exponents& exponents = ExponentsOf(scan);
  uint64_t a = 0, b = 0, c = 0, exclusive = 0, carries = 0;
  const auto add = [&](uint64_t word) {
    a += word;
    b += a;
    c += b;
    exclusive ^= word;
    carries |= (word & exponents.bits) + exponents.lowest;
  };
  const Byte* at = static_cast<const Byte*>(data);
  const Byte* const end_of_words = at + (bytes & ~(kWordBytes - 1));
  uint64_t words = bytes / kWordBytes;
  for (; at != end_of_words; at += kWordBytes) add(WordAt(at));
  if (const size_t rest = bytes % kWordBytes; rest != 0) {
    uint64_t word = 0;
    memcpy(&word, at, rest);
    add(word);
    ++words;
  }
  const uint64_t p = words + 1;  // index j = p - m
  return {{words, a, p * a - b, p * p * a - 2 * p * b + 2 * c - b, exclusive},
          (carries & exponents.Carries()) != 0};
}

// The sums of each lane of a vector.
template <size_t kLanes>
struct Lanes {
  uint64_t a[kLanes];
  uint64_t b[kLanes];
  uint64_t c[kLanes];
  uint64_t exclusive[kLanes];
  uint64_t carries[kLanes];
};

// Defines NAME(at, end, exponents, lanes), which reads vectors of BYTES bytes from `at` to `end`.
// This is a macro because an attribute cannot depend on a template's argument. The function is not
// inlined, because g++ would then keep the sums in memory, in the form in which LanesToWords() uses
// them.
//
// There is one sum of each kind, so each addition waits for the addition of the step before. This
// latency is one cycle on x86-64 and two on AArch64; the operations of a step take about two
// cycles.
#define ROLLCALL_DEFINE_STEPS(NAME, BYTES, ...)                                              \
  __VA_ARGS__ [[gnu::noinline]] void NAME(const Byte* at, const Byte* end,                   \
                                          const Exponents& exponents,                        \
                                          Lanes<BYTES / kWordBytes>* lanes) {                \
    using Vector [[gnu::vector_size(BYTES)]] = uint64_t;                                     \
    using Unaligned [[gnu::vector_size(BYTES), gnu::aligned(1), gnu::may_alias]] = uint64_t; \
    const Vector zero = {};                                                                  \
    const Vector bits = zero + exponents.bits, lowest = zero + exponents.lowest;             \
    Vector a = zero, b = zero, c = zero, exclusive = zero, carries = zero;                   \
    for (; at != end; at += sizeof(Vector)) {                                                \
      const Vector x = *reinterpret_cast<const Unaligned*>(at);                              \
      a += x;                                                                                \
      b += a;                                                                                \
      c += b;                                                                                \
      exclusive ^= x;                                                                        \
      carries |= (x & bits) + lowest;                                                        \
    }                                                                                        \
    memcpy(lanes->a, &a, sizeof a);                                                          \
    memcpy(lanes->b, &b, sizeof b);                                                          \
    memcpy(lanes->c, &c, sizeof c);                                                          \
    memcpy(lanes->exclusive, &exclusive, sizeof exclusive);                                  \
    memcpy(lanes->carries, &carries, sizeof carries);                                        \
  }

template <size_t kLanes>
WordsRead LanesToWords(const Lanes<kLanes>& lanes, uint64_t steps, const Exponents& exponents) {
  // The same sums over the lanes, from the last lane to the first. With q = lane + 1, a1 is the sum
  // of q a(q), and a2 is the sum of q(q+1)/2 a(q).
  uint64_t a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, c0 = 0, exclusive = 0, carries = 0;
  for (size_t lane = kLanes; lane-- != 0;) {
    a0 += lanes.a[lane];
    a1 += a0;
    a2 += a1;
    b0 += lanes.b[lane];
    b1 += b0;
    c0 += lanes.c[lane];
    exclusive ^= lanes.exclusive[lane];
    carries |= lanes.carries[lane];
  }
  // Step steps - m reads the words with the indexes words - kLanes * m + q.
  const uint64_t words = kLanes * steps;
  return {{words, a0, words * a0 + a1 - kLanes * b0,
           words * (words * a0 + 2 * (a1 - kLanes * b0)) + 2 * a2 - a1 - 2 * kLanes * b1 +
               kLanes * kLanes * (2 * c0 - b0),
           exclusive},
          (carries & exponents.Carries()) != 0};
}

template <size_t kLanes, void (*kSteps)(const Byte*, const Byte*, const Exponents&, Lanes<kLanes>*)>
WordsRead ReadVectors(const void* data, size_t bytes, Scan scan) {
  constexpr size_t kStepBytes = kLanes * kWordBytes;
  const Exponents& exponents = ExponentsOf(scan);
  const Byte* const at = static_cast<const Byte*>(data);
  const uint64_t steps = bytes / kStepBytes;
  const Byte* const end = at + steps * kStepBytes;
  Lanes<kLanes> lanes;
  kSteps(at, end, exponents, &lanes);
  WordsRead whole = LanesToWords(lanes, steps, exponents);
  if (const size_t rest = bytes % kStepBytes; rest != 0) {
    const WordsRead tail = ReadScalar(end, rest, scan);
    whole = {whole.all + tail.all, whole.non_finite || tail.non_finite};
  }
  return whole;
}

bool Always() { return true; }

// SSE2 on x86-64, NEON on AArch64.
ROLLCALL_DEFINE_STEPS(BaselineSteps, 16)

#if defined(__x86_64__)
ROLLCALL_DEFINE_STEPS(Avx2Steps, 32, [[gnu::target("avx2")]])

bool HasAvx2() {
  __builtin_cpu_init();  // a constructor of another library may call us before libgcc's has run
  return __builtin_cpu_supports("avx2") != 0;
}
#endif

constexpr WordsReader kReaders[] = {
    {"scalar", ReadScalar, Always},
    {"baseline", ReadVectors<2, BaselineSteps>, Always},
#if defined(__x86_64__)
    {"avx2", ReadVectors<4, Avx2Steps>, HasAvx2},
#endif
};

// Null until the first use. Threads that find it null at the same time store the same value, so no
// order is required.
constinit std::atomic<decltype(WordsReader::read)> g_read{nullptr};

[[gnu::cold, gnu::noinline]] decltype(WordsReader::read) ChooseReader() {
  decltype(WordsReader::read) read = nullptr;
  for (const WordsReader& reader : kReaders) {
    if (reader.is_supported()) read = reader.read;
  }
  g_read.store(read, std::memory_order_relaxed);
  return read;
}

template <typename Element>
NonFiniteCount CountAs(const void* data, size_t bytes, const Format& format) {
  const Element bits = static_cast<Element>(format.exponent);
  const Element fraction = static_cast<Element>(format.LowestBit() - 1);
  NonFiniteCount found;
  const size_t elements = bytes / sizeof(Element);
  for (size_t i = 0; i < elements; ++i) {
    Element element;
    memcpy(&element, static_cast<const Byte*>(data) + i * sizeof element, sizeof element);
    if ((element & bits) != bits) continue;
    if (found.nans + found.infinities == 0) {
      found.first = i;
      found.bits = element;
    }
    ++((element & fraction) != 0 ? found.nans : found.infinities);
  }
  return found;
}

}  // namespace

Scan ScanOf(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kF16:
      return Scan::kF16;
    case TypeClass::kBf16:
      return Scan::kBf16;
    case TypeClass::kF32:
    case TypeClass::kC64:
      return Scan::kF32;
    case TypeClass::kF64:
    case TypeClass::kC128:
      return Scan::kF64;
    default:
      return Scan::kNone;
  }
}

uint32_t BytesOf(Scan scan) { return FormatOf(scan).bytes; }

WordsRead ReadWords(const void* data, size_t bytes, Scan scan) {
  if (bytes < kShortBytes) return ReadScalar(data, bytes, scan);
  decltype(WordsReader::read) read = g_read.load(std::memory_order_relaxed);
  if (read == nullptr) read = ChooseReader();
  return read(data, bytes, scan);
}

NonFiniteCount CountNonFinite(const void* data, size_t bytes, Scan scan) {
  if (scan == Scan::kNone) return {};
  const Format& format = FormatOf(scan);
  if (format.bytes == 2) return CountAs<uint16_t>(data, bytes, format);
  if (format.bytes == 4) return CountAs<uint32_t>(data, bytes, format);
  return CountAs<uint64_t>(data, bytes, format);
}

WordsReaders AllWordsReaders() { return {kReaders, std::size(kReaders)}; }

}  // namespace rollcall::shim
