// SPDX-License-Identifier: Apache-2.0
#include "shim/data/buffer.h"

#include <cstring>

namespace rollcall::shim {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kPieceBytes = ring::kDataPieces * kWord;
constexpr uint64_t kChunk = 4096;  // a multiple of all elements' sizes

// Calls f(data, bytes) for consecutive pieces of the data [from, from + length). The lengths of all
// pieces but the last are multiples of kChunk.
template <typename F>
inline void ForEachPiece(const TypedBuffer& buffer, uint64_t from, uint64_t length, F f) {
  if (buffer.map->contiguous()) {
    f(buffer.base + from, length);
    return;
  }
  alignas(8) char chunk[kChunk];
  while (length != 0) {
    const uint64_t take = length < kChunk ? length : kChunk;
    CopyData(buffer, from, take, chunk);
    f(static_cast<const char*>(chunk), take);
    from += take;
    length -= take;
  }
}

uint64_t WordsOf(uint64_t bytes) { return (bytes + kWord - 1) / kWord; }

uint64_t WordAt(const TypedBuffer& buffer, uint64_t index) {
  const uint64_t at = index * kWord;
  const uint64_t left = buffer.bytes() - at;
  uint64_t word = 0;
  if (left >= kWord && buffer.map->contiguous()) {
    memcpy(&word, buffer.base + at, kWord);  // of a constant size
  } else {
    CopyData(buffer, at, left < kWord ? left : kWord, &word);
  }
  return word;
}

// Computes the indexes of SampledWord() without its divisions, which take longer than reading the
// words.
class Places {
 public:
  Places(uint64_t words, uint64_t sample, uint64_t sequence)
      : first_(ring::SampledWord(words, sample, sequence, 0)), stride_(words / sample) {}

  uint64_t stride() const { return stride_; }
  uint64_t operator[](uint64_t k) const { return first_ + k * stride_; }

 private:
  const uint64_t first_;
  const uint64_t stride_;
};

// The words of a small buffer, or the sampled words of a buffer that is not read whole. Empty for a
// large buffer that is read whole.
class Sample {
 public:
  Sample(const TypedBuffer& buffer, const HowToRead& how)
      : words_(WordsOf(buffer.bytes())), how_(how) {
    const bool some = how.sample != 0 && words_ > how.sample;
    if (!some && words_ <= ring::kSampledWords) {
      count_ = words_;
      for (uint64_t k = 0; k < ring::kDataPieces; ++k) sample_[k] = 0;
      if (count_ != 0) sample_[count_ - 1] = 0;
      CopyData(buffer, 0, buffer.bytes(), sample_);
    } else if (some) {
      count_ = how.sample;
      TakeSome(buffer);
    }
  }
  // The index of the k-th word of the sample among all words of the buffer.
  uint64_t IndexOf(uint64_t k) const {
    return whole() ? k : ring::SampledWord(words_, count_, how_.sequence, k);
  }
  bool whole() const { return count_ == 0 || count_ == words_; }
  uint64_t count() const { return count_; }
  // If whole() and count() < kDataPieces, zeros follow up to kDataPieces words.
  const uint64_t* words() const { return sample_; }

 private:
  void TakeSome(const TypedBuffer& buffer) {
    const Places places(words_, count_, how_.sequence);
    if (buffer.map->contiguous() && places[count_ - 1] < buffer.bytes() / kWord) {
      const char* from = buffer.base + places[0] * kWord;
#pragma GCC unroll 8
      for (uint64_t k = 0; k < count_; ++k, from += places.stride() * kWord) {
        memcpy(sample_ + k, from, kWord);
      }
      return;
    }
    for (uint64_t k = 0; k < count_; ++k) sample_[k] = WordAt(buffer, places[k]);
  }

  const uint64_t words_;
  const HowToRead& how_;
  uint64_t count_ = 0;
  uint64_t sample_[ring::kSampledWords];
};

void StoreNonFinite(const NonFiniteCount& found, uint64_t first, ring::DataRecord* record) {
  if (record->nans == 0 && record->infinities == 0 && (found.nans | found.infinities) != 0) {
    record->non_finite = first;
    record->non_finite_bits = found.bits;
  }
  const auto add = [](uint32_t* to, uint64_t more) {
    *to = *to + more > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(*to + more);
  };
  add(&record->nans, found.nans);
  add(&record->infinities, found.infinities);
}

[[gnu::noinline]] void FindNonFinite(const TypedBuffer& buffer, const HowToRead& how,
                                     const Sample& sample, ring::DataRecord* record) {
  const uint64_t per_word = kWord / BytesOf(how.scan);
  for (uint64_t k = 0; k < sample.count(); ++k) {
    const NonFiniteCount found = CountNonFinite(sample.words() + k, kWord, how.scan);
    StoreNonFinite(found, sample.IndexOf(k) * per_word + found.first, record);
  }
  if (sample.count() != 0) return;
  uint64_t before = 0;
  ForEachPiece(buffer, 0, buffer.bytes(), [&](const char* data, uint64_t bytes) {
    const NonFiniteCount found = CountNonFinite(data, bytes, how.scan);
    StoreNonFinite(found, before + found.first, record);
    before += bytes / BytesOf(how.scan);
  });
}

// Counts the different values among the words that are read, or among a sample of them if the
// sample is empty.
uint16_t CountDistinct(const TypedBuffer& buffer, const HowToRead& how, const Sample& sample) {
  uint64_t seen[ring::kMaxDistinct];
  uint16_t distinct = 0;
  const auto add = [&](uint64_t word) {
    uint16_t k = 0;
    while (k < distinct && seen[k] != word) ++k;
    if (k == distinct) seen[distinct++] = word;
    return distinct < ring::kMaxDistinct;
  };
  if (sample.count() != 0) {
    for (uint64_t k = 0; k < sample.count() && add(sample.words()[k]); ++k) continue;
  } else {
    const Places places(WordsOf(buffer.bytes()), ring::kSampledWords, how.sequence);
    for (uint64_t k = 0; k < ring::kSampledWords && add(WordAt(buffer, places[k])); ++k) continue;
  }
  return distinct;
}

Fingerprint ReadSums(const TypedBuffer& buffer, const Sample& sample, Scan scan, uint64_t first,
                     uint64_t count, bool* non_finite) {
  Fingerprint sums;
  const auto read = [&](const char* data, uint64_t length) {
    const WordsRead found = ReadWords(data, length, scan);
    sums = sums + found.all;
    *non_finite |= found.non_finite;
  };
  if (sample.count() != 0) {
    read(reinterpret_cast<const char*>(sample.words() + first), count * kWord);
  } else {
    const uint64_t end = (first + count) * kWord, bytes = buffer.bytes();
    ForEachPiece(buffer, first * kWord, (end < bytes ? end : bytes) - first * kWord, read);
  }
  return sums;
}

}  // namespace

void ReadBuffer(const TypedBuffer& buffer, const HowToRead& how, ring::DataRecord* record) {
  const Sample sample(buffer, how);
  const uint64_t words = sample.count() == 0 ? WordsOf(buffer.bytes()) : sample.count();
  record->reading = static_cast<uint16_t>(sample.whole() ? ring::DataReading::kWhole
                                                         : ring::DataReading::kSampled);
  record->type_class = static_cast<uint16_t>(buffer.map->type_class);
  record->distinct = 0;
  record->bytes = buffer.bytes();
  record->words = words;
  record->nans = record->infinities = 0;
  record->non_finite = record->non_finite_bits = 0;
  memset(record->pieces, 0, sizeof(record->pieces));

  auto kind = ring::DataPieces::kNone;
  if (words <= ring::kDataPieces && sample.whole()) {
    // The words themselves are kept for small buffers only.
    if (words != 0) kind = ring::DataPieces::kWords;
    memcpy(record->pieces, sample.words(), kPieceBytes);
  } else if (how.sample == 0 && how.keep_parts) {
    kind = ring::DataPieces::kParts;
  }
  Fingerprint all;
  bool non_finite = false;
  const uint64_t parts = kind == ring::DataPieces::kParts ? ring::kDataPieces : 1;
  const uint64_t part = (words + parts - 1) / parts;
  for (uint64_t first = 0, piece = 0; first < words; first += part, ++piece) {
    const uint64_t count = part < words - first ? part : words - first;
    const Fingerprint sums = ReadSums(buffer, sample, how.scan, first, count, &non_finite);
    if (kind == ring::DataPieces::kParts) record->pieces[piece] = HashFingerprint(sums);
    all = all + sums;
  }
  record->piece_kind = static_cast<uint16_t>(kind);
  record->sum = all.sum;
  record->weighted_sum = all.weighted_sum;
  record->squared_sum = all.squared_sum;
  record->exclusive = all.exclusive;
  if (non_finite) FindNonFinite(buffer, how, sample, record);
  if (how.count_distinct && words != 0) record->distinct = CountDistinct(buffer, how, sample);
}

uint64_t HashBuffer(const TypedBuffer& buffer, const HowToRead& how) {
  const Sample sample(buffer, how);
  const uint64_t words = sample.count() == 0 ? WordsOf(buffer.bytes()) : sample.count();
  bool unused = false;
  return HashFingerprint(ReadSums(buffer, sample, Scan::kNone, 0, words, &unused));
}

}  // namespace rollcall::shim
