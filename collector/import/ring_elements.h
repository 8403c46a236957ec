// SPDX-License-Identifier: Apache-2.0
// Decides whether single elements of a ring are in use, and whether they are consistent. Shared by
// an agent's sampler and the reader of whole rings.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_ELEMENTS_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_ELEMENTS_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "proto/ring_format.h"

namespace rollcall {

inline bool IsBeingWritten(uint64_t lock) { return (lock & 1) != 0; }

// Any other state is free or damage.
inline bool IsInUse(const ring::ThreadEntry& thread) {
  return thread.state == static_cast<uint32_t>(ring::ThreadState::kLive) ||
         thread.state == static_cast<uint32_t>(ring::ThreadState::kEnded);
}

inline bool IsInUse(const ring::GpuProgress& progress) { return progress.member != 0; }

// Whether an open slot below the thread's depth has a call. A call that is just being left has lock
// 0; one that changed while it was copied has no operation.
inline bool HoldsCall(const ring::Record& open) { return open.operation != 0 && open.lock != 0; }

// Whether the words that describe a poll belong together.
inline bool IsWhole(const ring::Polling& polling) {
  return polling.lock != 0 && !IsBeingWritten(polling.lock);
}

// Whether the last call of a thread that is in no call was an unsuccessful poll. After a successful
// poll, since_ticks is 0.
inline bool LastCallPolled(const ring::ThreadEntry& thread) {
  return IsWhole(thread.polling) && thread.polling.since_ticks != 0 &&
         thread.polling.since_ticks >= thread.last_end_ticks;
}

// Whether a StringRef refers to a complete string of the section's bytes.
inline bool HasString(const std::vector<uint8_t>& strings, uint32_t ref) {
  uint32_t size;
  if (ref == 0 || strings.size() < sizeof(size) || ref > strings.size() - sizeof(size)) {
    return false;
  }
  std::memcpy(&size, strings.data() + ref, sizeof(size));
  return size <= strings.size() - ref - sizeof(size);
}

// The bytes of a StringRef; empty if it refers to no complete string. Not cleaned: may contain
// anything. Refers to `strings`.
inline std::string_view StringAt(const std::vector<uint8_t>& strings, uint32_t ref) {
  if (!HasString(strings, ref)) return {};
  uint32_t size;
  std::memcpy(&size, strings.data() + ref, sizeof(size));
  return {reinterpret_cast<const char*>(strings.data()) + ref + sizeof(size), size};
}

// A checkpoint that is being written has number 0.
inline bool IsWhole(const ring::Checkpoint& checkpoint, const ring::Member& of) {
  return checkpoint.sequence != 0 && checkpoint.sequence <= of.entered;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_ELEMENTS_H_
