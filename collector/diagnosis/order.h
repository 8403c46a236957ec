// Did a rank go past a call that others wait in, or has it not come to it yet? All accusations of
// ranks that wait elsewhere rest on this; where the history does not decide, the answer is no.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_ORDER_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_ORDER_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/incident.h"

namespace rollcall {

// `waiting` is a call of process `waiter`; `stands` the call in which `process` stands.
bool WentPast(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
              const Event& waiting);

// Those of `processes` that went past a collective in which others wait. Who stands at the same
// place is judged once.
std::vector<uint32_t> ThosePast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes);

// How the two sides of an incident came apart.
struct Parted {
  Parting parting;  // a: the agreeing side's call, b: the deviating side's
  bool calls_differ = false;
  // The agreeing side's call is the one that the deviating side left out; otherwise the deviating
  // side's call is one that it alone made.
  bool skipped = true;
  bool later_made = false;  // the deviating side made the other's call after all: another order
  // Two calls of one operation, from two call sites of one function, that were not meant for each
  // other: one of them was left out. Otherwise they may be two arms of a branch, with a mistake in
  // one.
  bool separate_calls = false;
  // One side's loop ended earlier.
  bool uneven = false;
  bool deviating_left = false;  // the deviating side is the one that left the loop
  size_t period = 0;
  uint64_t rounds = 0;       // whole rounds that both made, as far as they are on record
  bool rounds_lost = false;  // there may have been more
};

Parted HowParted(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_ORDER_H_
