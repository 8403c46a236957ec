// SPDX-License-Identifier: Apache-2.0
// Imports one ring into a Trace: its process, its members and their events. RingTraceBuilder joins
// processes (worlds, communicators), from the data in MemberDrafts.
#ifndef ROLLCALL_COLLECTOR_IMPORT_RING_IMPORT_H_
#define ROLLCALL_COLLECTOR_IMPORT_RING_IMPORT_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/import/device_work.h"
#include "collector/import/interner.h"
#include "collector/import/ring_clock.h"
#include "collector/import/ring_reader.h"
#include "collector/model/trace.h"

namespace rollcall {

// The data in a ring about a communicator.
struct MemberDraft {
  uint64_t key = 0;
  uint64_t parent_key = 0;
  uint64_t parent_sequence = 0;
  uint16_t creating_operation = 0;
  uint32_t flags = 0;
  int32_t device = -1;   // NCCL: CUDA's number
  bool carries = false;  // NCCL: its calls are those of a process group of torch.distributed
  int32_t size = 0;
  int32_t remote_size = 0;
  std::string name;  // given by the user
  std::vector<ring::RankRun> ranks;
  std::vector<ring::RankRun> remote_ranks;
};

// A process group of torch.distributed whose operations run on devices.
inline bool IsGroupOnDevices(const MemberDraft& draft) {
  constexpr uint32_t kBoth = ring::kIsC10d | ring::kIsNccl;
  return (draft.flags & kBoth) == kBoth;
}
// A group of which only size and rank are known. Two such groups may look like one group, so their
// calls are not judged. The NCCL calls that they make are judged instead.
inline bool IsUncertainGroup(const MemberDraft& draft) {
  return IsGroupOnDevices(draft) && (draft.flags & ring::kWeakIdentity) != 0;
}

// The ranks of `runs`; empty if one of them is negative or too large.
std::vector<int32_t> ExpandRanks(const std::vector<ring::RankRun>& runs);

class RingImporter {
 public:
  explicit RingImporter(Trace* trace) : trace_(*trace), interner_(trace) {}

  // Appends a process with its members; returns its index. `snapshot` is usable.
  uint32_t Import(const RingSnapshot& snapshot);

  // By index in Trace::members.
  std::vector<MemberDraft>& drafts() { return drafts_; }

  // The input of SimulateStreams(), once the processes are joined.
  std::vector<DeviceCall>& device_calls() { return device_calls_; }
  std::vector<HostWait>& host_waits() { return host_waits_; }

 private:
  Trace& trace_;
  Interner interner_;
  std::vector<MemberDraft> drafts_;
  std::vector<DeviceCall> device_calls_;
  std::vector<HostWait> host_waits_;
  std::unordered_map<std::string, RingClock> host_clocks_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_RING_IMPORT_H_
