// SPDX-License-Identifier: Apache-2.0
// The memory that the simulated ranks of one communicator share.
#ifndef ROLLCALL_TESTS_NCCL_SIM_SEGMENT_H_
#define ROLLCALL_TESTS_NCCL_SIM_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace nccl_sim {

inline constexpr int kMaxRanks = 64;
inline constexpr size_t kMaxCollectiveBytes = 64 << 10;
inline constexpr size_t kMaxMessageBytes = 4 << 10;

// What a rank is doing under its n-th collective.
struct Call {
  int operation = 0;
  int root = -1;
  size_t bytes = 0;
};

struct RankPart {
  std::atomic<int> joined;
  std::atomic<uint64_t> arrived;  // number of the collective whose call and data are here
  std::atomic<uint64_t> read;     // number of the last one of which this rank has read all parts
  Call call;
  // Splits: numbered by themselves.
  std::atomic<uint64_t> split_arrived;
  std::atomic<uint64_t> split_read;
  int color;
  int key;
  char data[kMaxCollectiveBytes];
};

struct Channel {
  std::atomic<uint64_t> sent;
  std::atomic<uint64_t> received;
  size_t bytes;
  char data[kMaxMessageBytes];
};

struct Segment {
  RankPart ranks[kMaxRanks];
  Channel channels[kMaxRanks][kMaxRanks];  // [sender][receiver]
};

// Opens or makes the segment; zeroed by whoever is first. Null if there is no room.
Segment* Open(const std::string& name);
void Close(Segment* segment);
void Remove(const std::string& name);

}  // namespace nccl_sim

#endif  // ROLLCALL_TESTS_NCCL_SIM_SEGMENT_H_
