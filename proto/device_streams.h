// The numbers by which the ring names CUDA's streams (Record::detail2, GpuProgress::stream): their
// handles, but for the default stream that each thread has of its own. That one has a single handle
// in all threads; in the ring each has a number, since what one thread waits for says nothing of
// another's.
#ifndef ROLLCALL_PROTO_DEVICE_STREAMS_H_
#define ROLLCALL_PROTO_DEVICE_STREAMS_H_

#include <cstdint>

namespace rollcall::ring {

// CUDA's handles (cuda.h): CU_STREAM_LEGACY, which 0 means, too, and CU_STREAM_PER_THREAD.
inline constexpr uint64_t kLegacyStream = 1;
inline constexpr uint64_t kPerThreadStream = 2;

// The number of a thread's own default stream, by its entry in the ring and how often that was
// given away before. No handle is as high.
inline constexpr uint64_t kOwnStream = uint64_t{1} << 62;
constexpr uint64_t OwnStream(uint32_t thread, uint64_t incarnation) {
  constexpr uint64_t kIncarnations = (uint64_t{1} << 48) - 1;
  return kOwnStream | (incarnation & kIncarnations) << 8 | (thread & 0xff);
}
constexpr bool IsOwnStream(uint64_t stream) { return stream >> 62 == 1; }

// Every device has its own of each, and a call means the current device's.
constexpr bool IsDefaultStream(uint64_t stream) {
  return stream <= kPerThreadStream || IsOwnStream(stream);
}

}  // namespace rollcall::ring

#endif  // ROLLCALL_PROTO_DEVICE_STREAMS_H_
