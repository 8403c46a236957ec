// SPDX-License-Identifier: Apache-2.0
// The numbers that identify CUDA streams in the ring (Record::detail2, GpuProgress::stream). A
// stream's number is its handle, except for per-thread default streams. CUDA uses one handle for
// the per-thread default streams of all threads. The ring has a number for each of them, because a
// wait for one thread's stream does not show that another thread's stream is complete.
#ifndef ROLLCALL_PROTO_DEVICE_STREAMS_H_
#define ROLLCALL_PROTO_DEVICE_STREAMS_H_

#include <cstdint>

namespace rollcall::ring {

// CUDA's handles (cuda.h): CU_STREAM_LEGACY (0 means the same) and CU_STREAM_PER_THREAD.
inline constexpr uint64_t kLegacyStream = 1;
inline constexpr uint64_t kPerThreadStream = 2;

// The number of a thread's own default stream. It consists of the index of the thread's ThreadEntry
// and of the number of times that the entry was reused. No handle is as large.
inline constexpr uint64_t kOwnStream = uint64_t{1} << 62;
constexpr uint64_t OwnStream(uint32_t thread, uint64_t incarnation) {
  constexpr uint64_t kIncarnations = (uint64_t{1} << 48) - 1;
  return kOwnStream | (incarnation & kIncarnations) << 8 | (thread & 0xff);
}
constexpr bool IsOwnStream(uint64_t stream) { return stream >> 62 == 1; }

// Each device has its own default streams; a call uses those of the current device.
constexpr bool IsDefaultStream(uint64_t stream) {
  return stream <= kPerThreadStream || IsOwnStream(stream);
}

}  // namespace rollcall::ring

#endif  // ROLLCALL_PROTO_DEVICE_STREAMS_H_
