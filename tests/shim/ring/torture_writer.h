// SPDX-License-Identifier: Apache-2.0
// The writer of the ring torture tests: a process whose threads fill rings with records that are
// functions of their index until it is killed.
#ifndef ROLLCALL_TESTS_SHIM_RING_TORTURE_WRITER_H_
#define ROLLCALL_TESTS_SHIM_RING_TORTURE_WRITER_H_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "proto/ring_format.h"

namespace rollcall::shim::torture {

inline constexpr uint32_t kThreads = 4;
inline constexpr uint64_t kSlots = 64;  // few, so that they are soon overwritten

inline uint64_t Scramble(uint64_t value) {
  value ^= value >> 31;
  value *= 0x9e3779b97f4a7c15;
  return value ^ value >> 29;
}

// Returns record `index` of `thread`; none of its words occurs in another record.
inline ring::Record Payload(uint32_t thread, uint64_t index) {
  uint64_t words[sizeof(ring::Record) / 8];
  for (uint64_t i = 0; i < sizeof(words) / 8; ++i) {
    words[i] = Scramble((index * 16 + i) * kThreads + thread + 1);
  }
  words[0] = 0;
  ring::Record record;
  std::memcpy(static_cast<void*>(&record), words, sizeof(record));
  return record;
}

// The data that writer and test share in addition to the rings.
struct Shared {
  std::atomic<uint64_t> written[kThreads];  // records that are whole
};

}  // namespace rollcall::shim::torture

#endif  // ROLLCALL_TESTS_SHIM_RING_TORTURE_WRITER_H_
