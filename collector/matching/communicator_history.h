// One communicator's collectives, side by side: what each member called under each number.
#ifndef ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_
#define ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "collector/matching/call_site.h"
#include "collector/model/trace.h"

namespace rollcall {

// One member's collectives. Numbers outside [first, last], and those in gaps, are not recorded.
struct MemberHistory {
  uint32_t process = kNoIndex;
  uint32_t member_index = kNoIndex;
  const Member* member = nullptr;
  uint64_t first = 1;    // number of the oldest record; last + 1 if there is none
  uint64_t last = 0;     // of the newest record
  uint64_t entered = 0;  // the last number it took, recorded or not
  bool gap_free = true;  // nothing is missing between first and last

  const Event* At(uint64_t sequence) const;
};

struct CommunicatorHistory {
  uint32_t communicator = kNoIndex;
  std::vector<MemberHistory> members;  // members whose trace is here, by local rank
  std::vector<int32_t> absent;         // world ranks of members whose trace is missing
  bool ordered = true;   // numbers are certain: no two threads inside at once, a sure identity
  uint64_t highest = 0;  // the highest number that any member took
};

CommunicatorHistory BuildHistory(const Trace& trace, uint32_t communicator);

// Calls `visit(sequence, calls)` for every number at which members hold different arguments, or
// whose arguments were not looked at before: `calls` are indices into histories.members of all that
// hold a record. Linear in the number of records; nothing is measured against one chosen rank.
void VisitDifferences(
    const Trace& trace, const CommunicatorHistory& histories,
    const std::function<void(uint64_t sequence, const std::vector<uint32_t>&)>& visit);

// What a call is, for telling call sites apart: operation and call path.
uint64_t SiteKey(const Trace& trace, const CallSites& sites, const Event& event);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_COMMUNICATOR_HISTORY_H_
