// Histories of call sites compared: pairing drift, and loops that ran a different number of times.
//
// A call that one rank skipped pairs with that rank's next call of the same kind, and nothing stops
// until much later. The numbers agree all the time; the call sites do not: from the skipped call
// on, one history is the other one shifted. Call sites that differ without a shift are two arms of
// a branch that make the same call, and are no fault.
#ifndef ROLLCALL_COLLECTOR_MATCHING_SHIFT_H_
#define ROLLCALL_COLLECTOR_MATCHING_SHIFT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "collector/matching/call_site.h"
#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall {

struct Shift {
  uint64_t sequence = 0;  // the first number at which one history is shifted against the others
  std::vector<uint32_t> deviating;  // histories
  std::vector<uint32_t> agreeing;
  bool tie = false;  // as many on one side as on the other
  bool extra =
      false;  // the deviating histories made calls that the others did not; else left some out
  uint64_t calls = 0;      // how many
  bool each_time = false;  // one call, wherever the others make it
};

// The earliest shift on this communicator among the recorded calls; none if histories differ
// nowhere, or only without a shift. Near linear in the number of records.
std::optional<Shift> FindShift(const Trace& trace, const CallSites& sites,
                               const CommunicatorHistory& histories);

// The loop that a history of site keys ends in: its last `length` keys repeat with `period`.
struct Loop {
  size_t period = 0;  // 0: no loop
  size_t begin = 0;   // index of the first key of the repetition
};

// The loop that keys[0..end) ends in, whole twice at least; the shortest period. Linear in `end`.
Loop FindLoop(const std::vector<uint64_t>& keys, size_t end);

// A history's site keys by number, from history.first; 0 where a record is missing.
std::vector<uint64_t> SiteHistory(const Trace& trace, const CallSites& sites,
                                  const MemberHistory& history);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_SHIFT_H_
