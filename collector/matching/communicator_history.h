// SPDX-License-Identifier: Apache-2.0
// The collectives of one communicator: the call of each member for each sequence number.
#ifndef ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_
#define ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "collector/matching/call_site.h"
#include "collector/model/trace.h"

namespace rollcall {

// One member's collectives. Numbers outside [first, last] and numbers in gaps are not recorded.
struct MemberHistory {
  uint32_t process = kNoIndex;
  uint32_t member_index = kNoIndex;
  const Member* member = nullptr;
  uint64_t first = 1;    // the number of the oldest record; last + 1 if there is none
  uint64_t last = 0;     // the number of the newest record
  uint64_t entered = 0;  // the newest number that the member entered, recorded or not
  bool gap_free = true;  // no record is missing between first and last
  // Among the members that made the same calls from the same call sites (by their last
  // checkpoints), the member with the most records. It may be this member. Index into
  // CommunicatorHistory::members.
  uint32_t twin = kNoIndex;
  // The other members whose twin is this member, by increasing number of their oldest record.
  std::vector<uint32_t> stands_for;

  const Event* At(uint64_t sequence) const;
};

struct CommunicatorHistory {
  uint32_t communicator = kNoIndex;
  std::vector<MemberHistory> members;  // members with a trace, by local rank
  std::vector<int32_t> absent;         // world ranks of members whose trace is missing
  bool ordered = true;   // the numbers are certain: no concurrent calls, and no weak key
  uint64_t highest = 0;  // the highest number that any member entered

  // The members that made the same call with this number as `member`, and whose own record of the
  // call has been overwritten.
  std::span<const uint32_t> WithoutRecord(uint32_t member, uint64_t sequence) const;
};

// The position of the members: the first sequence number that some member has not entered, or the
// highest number if all have entered all.
uint64_t FrontOf(const CommunicatorHistory& histories);

CommunicatorHistory BuildHistory(const Trace& trace, uint32_t communicator);

// The checkpoint at the last number that the member entered; empty if there is none. Members that
// made the same calls from the same call sites so far have equal checkpoints.
std::optional<Checkpoint> LastCheckpoint(const Member& member);

// Calls `visit(sequence, calls)` for every number at which members have different arguments, or
// arguments that were not examined before. `calls` are the indices in histories.members of all
// members with a record. Linear in the number of records. No single rank is the reference.
void VisitDifferences(
    const Trace& trace, const CommunicatorHistory& histories,
    const std::function<void(uint64_t sequence, const std::vector<uint32_t>&)>& visit);

// Identifies a call for comparing call sites: operation and call path.
uint64_t SiteKey(const Trace& trace, const CallSites& sites, const Event& event);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_
