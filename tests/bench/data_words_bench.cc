// SPDX-License-Identifier: Apache-2.0
// What reading a buffer's words costs (shim/data/words.h), beside a plain loop over the same words
// and beside the fastest read, in the same run. Prints a table; fails if ReadWords() takes more
// than kLimit times as long as the plain loop for buffers of kJudgedBytes or more. For shorter
// ones, the calls and the last steps of the sums take longer than the words.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "proto/ring_format.h"
#include "shim/data/words.h"
#include "shim/data/words_internal.h"

namespace {

using namespace rollcall;
using namespace rollcall::shim;

constexpr double kLimit = 1.3;
constexpr size_t kJudgedBytes = 512;
constexpr size_t kLargest = 64u << 20;
constexpr int kRounds = 31;
constexpr size_t kBytesPerRound = 4u << 20;
constexpr size_t kMaxRepeats = 10'000;  // for short buffers, per round

[[gnu::noinline]] uint64_t PlainLoop(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

#if defined(__x86_64__)
#define ROLLCALL_BENCH_TARGET [[gnu::target("avx2")]]
constexpr size_t kVectorBytes = 32;
#else
#define ROLLCALL_BENCH_TARGET
constexpr size_t kVectorBytes = 16;
#endif

// Sums vectors, four at a time. `count` is a multiple of 16 or less than that.
ROLLCALL_BENCH_TARGET [[gnu::noinline]] uint64_t FastestRead(const uint64_t* words, size_t count) {
  using Vector [[gnu::vector_size(kVectorBytes)]] = uint64_t;
  using Unaligned [[gnu::vector_size(kVectorBytes), gnu::aligned(1), gnu::may_alias]] = uint64_t;
  constexpr size_t kWords = sizeof(Vector) / sizeof(uint64_t);
  Vector sums[4] = {};
  const uint64_t* const end = words + count;
  for (; words + 4 * kWords <= end; words += 4 * kWords) {
    const Unaligned* const at = reinterpret_cast<const Unaligned*>(words);
    sums[0] += at[0];
    sums[1] += at[1];
    sums[2] += at[2];
    sums[3] += at[3];
  }
  const Vector all = sums[0] + sums[1] + sums[2] + sums[3];
  uint64_t sum = 0;
  for (size_t i = 0; i < kWords; ++i) sum += all[i];
  for (; words != end; ++words) sum += *words;
  return sum;
}

volatile uint64_t g_sink;

double Nanoseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

// Of one call, on average over `repeats`.
template <typename Call>
double Time(size_t repeats, const Call& call) {
  uint64_t sink = 0;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i < repeats; ++i) {
    sink += call();
    asm volatile("" : "+r"(sink) : : "memory");  // the next call must read again
  }
  const auto stop = std::chrono::steady_clock::now();
  g_sink = sink;
  return Nanoseconds(stop - start) / static_cast<double>(repeats);
}

double Median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

uint64_t Use(const WordsRead& read) {
  return read.all.sum ^ read.all.weighted_sum ^ read.all.squared_sum ^ read.all.exclusive;
}

bool Whole(const std::vector<uint64_t>& buffer, size_t bytes) {
  const uint64_t* const words = buffer.data();
  const size_t count = bytes / sizeof(uint64_t);
  const size_t repeats = std::clamp<size_t>(kBytesPerRound / bytes, 1, kMaxRepeats);
  std::vector<double> ours, plain, fastest;
  std::vector<std::vector<double>> each(AllWordsReaders().count);
  for (int round = 0; round < kRounds; ++round) {
    ours.push_back(Time(repeats, [&] { return Use(ReadWords(words, bytes, Scan::kF64)); }));
    plain.push_back(Time(repeats, [&] { return PlainLoop(words, count); }));
    fastest.push_back(Time(repeats, [&] { return FastestRead(words, count); }));
    size_t i = 0;
    for (const WordsReader& reader : AllWordsReaders()) {
      if (reader.is_supported()) {
        each[i].push_back(
            Time(repeats, [&] { return Use(reader.read(words, bytes, Scan::kF64)); }));
      }
      ++i;
    }
  }
  const double a = Median(ours), b = Median(plain), c = Median(fastest);
  fmt::print("{:>10} {:>12.1f} {:>12.1f} {:>12.1f} {:>8.2f} {:>8.2f} {:>7.1f}", bytes, a, b, c,
             a / b, a / c, static_cast<double>(bytes) / a);
  for (const std::vector<double>& times : each) {
    if (!times.empty()) fmt::print(" {:>12.1f}", Median(times));
  }
  fmt::print("\n");
  return bytes < kJudgedBytes || a <= kLimit * b;
}

struct Indexes {
  uint32_t at[ring::kSampledWords];
};

[[gnu::noinline]] WordsRead ReadSample(const uint64_t* words, const Indexes& indexes) {
  uint64_t sample[ring::kSampledWords];
  for (size_t k = 0; k < ring::kSampledWords; ++k) sample[k] = words[indexes.at[k]];
  return ReadWords(sample, sizeof sample, Scan::kF64);
}

[[gnu::noinline]] uint64_t PlainSample(const uint64_t* words, const Indexes& indexes) {
  uint64_t sum = 0;
  for (size_t k = 0; k < ring::kSampledWords; ++k) sum += words[indexes.at[k]];
  return sum;
}

bool Sampled(const std::vector<uint64_t>& buffer, const std::vector<uint64_t>& other, size_t bytes,
             bool cold) {
  std::vector<double> ours, plain;
  uint64_t sequence = 0;
  const auto indexes = [&] {
    Indexes result;
    ++sequence;
    for (uint64_t k = 0; k < ring::kSampledWords; ++k) {
      result.at[k] =
          static_cast<uint32_t>(ring::SampledWord(bytes / sizeof(uint64_t), sequence, k));
    }
    return result;
  };
  const auto prepare = [&] {
    if (cold) g_sink = FastestRead(other.data(), other.size());
  };
  const size_t repeats = cold ? 1 : kMaxRepeats;
  for (int round = 0; round < kRounds; ++round) {
    const Indexes at = indexes();
    prepare();
    ours.push_back(Time(repeats, [&] { return Use(ReadSample(buffer.data(), at)); }));
    prepare();
    plain.push_back(Time(repeats, [&] { return PlainSample(buffer.data(), at); }));
  }
  const double a = Median(ours), b = Median(plain);
  fmt::print("{:>10} {:>6} {:>12.1f} {:>12.1f} {:>8.2f}\n", bytes, cold ? "cold" : "warm", a, b,
             a / b);
  // Of 4 KiB, and of any buffer that is cached, the loads take no longer than the sums of 64 words.
  return !cold || bytes < kLargest || a <= kLimit * b;
}

}  // namespace

int main() {
  std::vector<uint64_t> buffer(kLargest / sizeof(uint64_t)), other(buffer.size());
  for (size_t i = 0; i < buffer.size(); ++i) {
    const double value = 1.0 / static_cast<double>(i + 1);
    memcpy(&buffer[i], &value, sizeof value);
    other[i] = i;
  }
  fmt::print("ns per call, medians of {} rounds; the last columns are the implementations\n",
             kRounds);
  fmt::print("{:>10} {:>12} {:>12} {:>12} {:>8} {:>8} {:>7}", "bytes", "ReadWords", "plain loop",
             "fastest", "/plain", "/fastest", "GB/s");
  for (const WordsReader& reader : AllWordsReaders()) {
    if (reader.is_supported()) fmt::print(" {:>12}", reader.name);
  }
  fmt::print("\n");
  bool met = true;
  for (const size_t bytes :
       {size_t{64}, size_t{512}, size_t{4} << 10, size_t{64} << 10, size_t{1} << 20, kLargest}) {
    met &= Whole(buffer, bytes);
  }
  fmt::print("\n{} words spread over a buffer\n", ring::kSampledWords);
  fmt::print("{:>10} {:>6} {:>12} {:>12} {:>8}\n", "bytes", "cache", "ReadWords", "plain loop",
             "/plain");
  for (const bool cold : {false, true}) {
    for (const size_t bytes : {size_t{4} << 10, kLargest}) {
      met &= Sampled(buffer, other, bytes, cold);
    }
  }
  fmt::print("\nat most {} times the plain loop from {} bytes: {}\n", kLimit, kJudgedBytes,
             met ? "met" : "MISSED");
  return met ? EXIT_SUCCESS : EXIT_FAILURE;
}
