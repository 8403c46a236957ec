// SPDX-License-Identifier: Apache-2.0
// Compares histories of call sites to find skipped calls and loops with different iteration counts.
//
// If a rank skips a collective, its next call of the same kind matches instead, and nothing blocks
// until much later. The sequence numbers still agree but the call sites do not: from the skipped
// call on, one history is the other one shifted. In
//   0-3: Allreduce sum 1xMPI_INT @ main:10
//   0-2: Allreduce sum 1xMPI_INT @ main:11
//   0-3: Allreduce sum 1xMPI_INT @ main:12
//   0-3: Allreduce sum 1xMPI_INT @ main:13
// rank 3 skipped line 11. Its calls from lines 12 and 13 have the numbers 2 and 3, and match calls
// of the others from lines 11 and 12. Call sites that differ without a shift are arms of a branch
// that make the same call, which is no fault.
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
  std::vector<uint32_t> deviating;  // indices into CommunicatorHistory::members
  std::vector<uint32_t> agreeing;
  bool tie = false;  // both sides have the same size
  bool extra =
      false;  // the deviating members made calls that the others skipped; false: the reverse
  uint64_t calls = 0;      // number of calls added or skipped
  bool each_time = false;  // one call site, added or skipped at every occurrence
};

// Finds the earliest shift among the recorded calls of this communicator. Empty if no histories
// differ, or only without a shift. Nearly linear in the number of records.
std::optional<Shift> FindShift(const Trace& trace, const CallSites& sites,
                               const CommunicatorHistory& histories);

// A loop at the end of a history of site keys: the keys from `begin` on repeat with `period`.
struct Loop {
  size_t period = 0;  // 0: no loop
  size_t begin = 0;   // index of the first key of the repetition
};

// Finds the loop with the shortest period at the end of keys[0..end), with at least two whole
// iterations. Linear in `end`.
Loop FindLoop(const std::vector<uint64_t>& keys, size_t end);

// Returns the site keys of a history from number history.first on. The key is 0 if the record is
// missing.
std::vector<uint64_t> SiteHistory(const Trace& trace, const CallSites& sites,
                                  const MemberHistory& history);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_MATCHING_SHIFT_H_
