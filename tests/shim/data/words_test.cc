// SPDX-License-Identifier: Apache-2.0
#include "shim/data/words.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shim/data/words_internal.h"

namespace rollcall::shim {
namespace {

constexpr Scan kScans[] = {Scan::kNone, Scan::kF16, Scan::kBf16, Scan::kF32, Scan::kF64};

struct Format {
  Scan scan;
  const char* name;
  uint32_t bits;
  uint32_t fraction_bits;

  uint64_t Sign() const { return uint64_t{1} << (bits - 1); }
  uint64_t Fraction() const { return (uint64_t{1} << fraction_bits) - 1; }
  uint64_t Infinity() const { return Sign() - 1 - Fraction(); }
  uint64_t LargestFinite() const { return Infinity() - 1; }

  std::vector<uint64_t> Nans() const {
    return {Infinity() | 1, Infinity() | (Fraction() + 1) / 2, Infinity() | Fraction(),
            Sign() | Infinity() | 1, Sign() | Infinity() | Fraction()};
  }
  std::vector<uint64_t> Infinities() const { return {Infinity(), Sign() | Infinity()}; }
  std::vector<uint64_t> Finite() const {
    return {0,
            Sign(),  // -0.0
            1,       // denormal
            Fraction(),
            Sign() | Fraction(),
            Fraction() + 1,  // the smallest normal number
            LargestFinite(),
            Sign() | LargestFinite()};
  }
};
constexpr Format kFormats[] = {{Scan::kF16, "f16", 16, 10},
                               {Scan::kBf16, "bf16", 16, 7},
                               {Scan::kF32, "f32", 32, 23},
                               {Scan::kF64, "f64", 64, 52}};

const Format* FormatOf(Scan scan) {
  for (const Format& format : kFormats) {
    if (format.scan == scan) return &format;
  }
  return nullptr;
}

uint64_t ElementAt(const unsigned char* data, size_t index, const Format& format) {
  uint64_t element = 0;
  memcpy(&element, data + index * (format.bits / 8), format.bits / 8);
  return element;
}

void SetElement(std::vector<unsigned char>* data, size_t index, const Format& format,
                uint64_t element) {
  memcpy(data->data() + index * (format.bits / 8), &element, format.bits / 8);
}

// The definitions.
WordsRead Expected(const unsigned char* data, size_t bytes, Scan scan) {
  WordsRead read;
  for (size_t at = 0; at < bytes; at += 8) {
    uint64_t word = 0;
    memcpy(&word, data + at, std::min<size_t>(8, bytes - at));
    const uint64_t j = ++read.all.words;
    read.all.sum += word;
    read.all.weighted_sum += j * word;
    read.all.squared_sum += j * j * word;
    read.all.exclusive ^= word;
  }
  if (const Format* format = FormatOf(scan)) {
    for (size_t i = 0; i < bytes / (format->bits / 8); ++i) {
      const uint64_t element = ElementAt(data, i, *format);
      read.non_finite |= (element & format->Infinity()) == format->Infinity();
    }
  }
  return read;
}

// Random bits, so that about every thirtieth f16 is not finite.
std::vector<unsigned char> RandomBytes(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> data(bytes);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

std::string Text(const Fingerprint& all) {
  std::string text = std::to_string(all.words);
  for (const uint64_t value : {all.sum, all.weighted_sum, all.squared_sum, all.exclusive}) {
    text += " " + std::to_string(value);
  }
  return text;
}

// Calls `test` with each implementation that the processor has, and with ReadWords().
using Read = WordsRead (*)(const void*, size_t, Scan);
void ForEachReader(const std::function<void(Read)>& test) {
  size_t tested = 0;
  for (const WordsReader& reader : AllWordsReaders()) {
    if (!reader.is_supported()) continue;
    SCOPED_TRACE(reader.name);
    test(reader.read);
    ++tested;
  }
  EXPECT_GE(tested, 2u);
  SCOPED_TRACE("ReadWords");
  test(ReadWords);
}

void ExpectDefinition(Read read, const unsigned char* data, size_t bytes, Scan scan) {
  const WordsRead expected = Expected(data, bytes, scan);
  const WordsRead actual = read(data, bytes, scan);
  ASSERT_EQ(Text(actual.all), Text(expected.all)) << bytes << " bytes";
  ASSERT_EQ(actual.non_finite, expected.non_finite)
      << bytes << " bytes, scan " << static_cast<int>(scan);
}

TEST(Words, AreSummedAsDefinedAtEverySizeAndAlignment) {
  constexpr size_t kAlignments = 33;
  const std::vector<unsigned char> data = RandomBytes(300 + kAlignments, 1);
  ForEachReader([&](Read read) {
    for (size_t alignment = 0; alignment < kAlignments; ++alignment) {
      for (size_t bytes = 0; bytes <= 300; ++bytes) {
        ASSERT_NO_FATAL_FAILURE(
            ExpectDefinition(read, data.data() + alignment, bytes, Scan::kNone));
      }
    }
  });
}

TEST(Words, AreSummedAsDefinedInLongBuffers) {
  const std::vector<unsigned char> data = RandomBytes(70'000, 2);
  ForEachReader([&](Read read) {
    for (const size_t bytes : {1023, 1024, 4095, 4096, 4097, 8191, 12'345, 65'536, 69'999}) {
      for (const size_t alignment : {0, 1}) {
        ASSERT_NO_FATAL_FAILURE(
            ExpectDefinition(read, data.data() + alignment, bytes, Scan::kNone));
      }
    }
  });
}

TEST(Words, AreScannedAsDefinedAtEverySize) {
  ForEachReader([&](Read read) {
    for (uint32_t seed = 0; seed < 8; ++seed) {
      const std::vector<unsigned char> data = RandomBytes(301, seed);
      for (const Scan scan : kScans) {
        for (size_t bytes = 0; bytes <= 300; bytes += BytesOf(scan)) {
          ASSERT_NO_FATAL_FAILURE(ExpectDefinition(read, data.data() + 1, bytes, scan));
        }
      }
    }
  });
}

TEST(Words, NoByteOutsideTheBufferIsRead) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  unsigned char* const begin = static_cast<unsigned char*>(mapped) + page;
  ASSERT_EQ(mprotect(begin, page, PROT_READ | PROT_WRITE), 0);
  for (size_t i = 0; i < page; ++i) begin[i] = static_cast<unsigned char>(i * 37);
  ForEachReader([&](Read read) {
    for (size_t bytes = 0; bytes <= 300; ++bytes) {
      ASSERT_NO_FATAL_FAILURE(ExpectDefinition(read, begin, bytes, Scan::kNone));
      ASSERT_NO_FATAL_FAILURE(ExpectDefinition(read, begin + page - bytes, bytes, Scan::kNone));
    }
  });
  munmap(mapped, 3 * page);
}

TEST(Words, FingerprintsOfTwoPartsAddUpToThatOfTheWhole) {
  const std::vector<unsigned char> data = RandomBytes(1021, 3);
  ForEachReader([&](Read read) {
    const Fingerprint whole = read(data.data(), data.size(), Scan::kNone).all;
    for (size_t split = 0; split < data.size(); split += 8) {
      const Fingerprint front = read(data.data(), split, Scan::kNone).all;
      const Fingerprint back = read(data.data() + split, data.size() - split, Scan::kNone).all;
      ASSERT_EQ(Text(front + back), Text(whole)) << "split at " << split;
    }
  });
}

TEST(Words, OneDifferentWordIsLocatedByTheSums) {
  const std::vector<unsigned char> data = RandomBytes(800, 4);
  ForEachReader([&](Read read) {
    const Fingerprint before = read(data.data(), data.size(), Scan::kNone).all;
    for (size_t index = 1; index <= data.size() / 8; ++index) {
      std::vector<unsigned char> changed = data;
      const uint64_t difference = 0x8000'0000'0000'0001 + 2 * index;  // odd, so it has an inverse
      uint64_t word;
      memcpy(&word, &changed[(index - 1) * 8], sizeof word);
      word += difference;
      memcpy(&changed[(index - 1) * 8], &word, sizeof word);
      const Fingerprint after = read(changed.data(), changed.size(), Scan::kNone).all;
      ASSERT_EQ(after.sum - before.sum, difference);
      uint64_t inverse = difference;  // Newton's iteration doubles the number of correct bits
      for (int i = 0; i < 6; ++i) inverse *= 2 - difference * inverse;
      ASSERT_EQ((after.weighted_sum - before.weighted_sum) * inverse, index);
      ASSERT_EQ((after.squared_sum - before.squared_sum) * inverse, index * index);
      ASSERT_NE(after.exclusive, before.exclusive);
    }
  });
}

TEST(Words, TheOrderOfWordsMatters) {
  std::vector<uint64_t> words(100);
  std::mt19937_64 random(5);
  for (uint64_t& word : words) word = random();
  ForEachReader([&](Read read) {
    const auto of = [&](const std::vector<uint64_t>& some) {
      return read(some.data(), some.size() * 8, Scan::kNone).all;
    };
    const Fingerprint original = of(words);
    for (size_t i = 0; i < words.size(); ++i) {
      for (size_t k = i + 1; k < words.size(); ++k) {
        std::vector<uint64_t> swapped = words;
        std::swap(swapped[i], swapped[k]);
        const Fingerprint other = of(swapped);
        ASSERT_EQ(other.sum, original.sum);
        ASSERT_EQ(other.exclusive, original.exclusive);
        ASSERT_NE(other.weighted_sum, original.weighted_sum) << i << " and " << k;
        ASSERT_NE(other.squared_sum, original.squared_sum) << i << " and " << k;
        ASSERT_NE(HashFingerprint(other), HashFingerprint(original));
      }
    }
    std::vector<uint64_t> shifted = words;
    std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
    ASSERT_EQ(of(shifted).sum, original.sum);
    ASSERT_NE(of(shifted).weighted_sum, original.weighted_sum);
    ASSERT_NE(of(shifted).squared_sum, original.squared_sum);
  });
}

TEST(Words, AnElementThatIsNotFiniteIsFoundAtEveryPosition) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    std::vector<uint64_t> wrong = format.Nans();
    for (const uint64_t infinity : format.Infinities()) wrong.push_back(infinity);
    for (const size_t bytes : {96, 200, 328}) {
      // The neighbours have the largest exponent of a finite number, and every bit of the fraction.
      std::vector<unsigned char> data(bytes);
      const size_t elements = bytes / (format.bits / 8);
      for (size_t i = 0; i < elements; ++i) {
        SetElement(&data, i, format, format.LargestFinite() | (i % 2 != 0 ? format.Sign() : 0));
      }
      ForEachReader([&](Read read) {
        EXPECT_FALSE(read(data.data(), bytes, format.scan).non_finite);
        for (size_t i = 0; i < elements; ++i) {
          const uint64_t before = ElementAt(data.data(), i, format);
          for (const uint64_t element : wrong) {
            SetElement(&data, i, format, element);
            ASSERT_TRUE(read(data.data(), bytes, format.scan).non_finite)
                << "element " << i << ": " << std::hex << element;
            ASSERT_FALSE(read(data.data(), bytes, Scan::kNone).non_finite);
          }
          for (const uint64_t element : format.Finite()) {
            SetElement(&data, i, format, element);
            ASSERT_FALSE(read(data.data(), bytes, format.scan).non_finite)
                << "element " << i << ": " << std::hex << element;
          }
          SetElement(&data, i, format, before);
        }
      });
    }
  }
}

TEST(Words, ElementsThatAreNotFiniteAreCounted) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.name);
    // At an odd address: 0 .. finite numbers, infinities, finite numbers, NaNs.
    std::vector<uint64_t> elements = format.Finite();
    const size_t first = elements.size();
    for (const std::vector<uint64_t>& more :
         {format.Infinities(), format.Finite(), format.Nans(), format.Finite()}) {
      elements.insert(elements.end(), more.begin(), more.end());
    }
    std::vector<unsigned char> data(1 + elements.size() * (format.bits / 8));
    for (size_t i = 0; i < elements.size(); ++i) {
      memcpy(&data[1 + i * (format.bits / 8)], &elements[i], format.bits / 8);
    }
    const size_t bytes = data.size() - 1;
    const NonFiniteCount all = CountNonFinite(data.data() + 1, bytes, format.scan);
    EXPECT_EQ(all.nans, format.Nans().size());
    EXPECT_EQ(all.infinities, format.Infinities().size());
    EXPECT_EQ(all.first, first);
    EXPECT_EQ(all.bits, format.Infinity());

    // Without the infinities, the first one is a NaN.
    const size_t skipped = (first + format.Infinities().size()) * (format.bits / 8);
    const NonFiniteCount rest =
        CountNonFinite(data.data() + 1 + skipped, bytes - skipped, format.scan);
    EXPECT_EQ(rest.nans, format.Nans().size());
    EXPECT_EQ(rest.infinities, 0u);
    EXPECT_EQ(rest.first, format.Finite().size());
    EXPECT_EQ(rest.bits, format.Nans()[0]);

    const NonFiniteCount none =
        CountNonFinite(data.data() + 1, first * (format.bits / 8), format.scan);
    EXPECT_EQ(none.nans + none.infinities, 0u);
    const NonFiniteCount unscanned = CountNonFinite(data.data() + 1, bytes, Scan::kNone);
    EXPECT_EQ(unscanned.nans + unscanned.infinities, 0u);
  }
}

TEST(Words, TypesAreScannedByTheirParts) {
  EXPECT_EQ(ScanOf(TypeClass::kF16), Scan::kF16);
  EXPECT_EQ(ScanOf(TypeClass::kBf16), Scan::kBf16);
  EXPECT_EQ(ScanOf(TypeClass::kF32), Scan::kF32);
  EXPECT_EQ(ScanOf(TypeClass::kC64), Scan::kF32);
  EXPECT_EQ(ScanOf(TypeClass::kF64), Scan::kF64);
  EXPECT_EQ(ScanOf(TypeClass::kC128), Scan::kF64);
  for (const TypeClass other :
       {TypeClass::kUnknown, TypeClass::kByte, TypeClass::kI64, TypeClass::kF80, TypeClass::kF128,
        TypeClass::kC160, TypeClass::kPair, TypeClass::kF8e4m3, TypeClass::kF8e5m2}) {
    EXPECT_EQ(ScanOf(other), Scan::kNone) << static_cast<int>(other);
  }
  for (const Format& format : kFormats) EXPECT_EQ(BytesOf(format.scan), format.bits / 8);
  EXPECT_EQ(BytesOf(Scan::kNone), 8u);
}

}  // namespace
}  // namespace rollcall::shim
