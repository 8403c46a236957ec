// Did a rank go past a call that others wait in, or has it not come to it yet? All accusations of
// ranks that wait elsewhere rest on this; where the history does not decide, the answer is no.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// `waiting` is a call of process `waiter`; `stands` the call in which `process` stands.
bool WentPast(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
              const Event& waiting);

// One line of the user's code may make several calls: mpi4py's allreduce of objects is made of
// messages and a broadcast.
bool SameUserCall(const Analysis& analysis, const Event& a, const Event& b);

// Everybody with a trace who has entered it, and behind them those who wait on their way there in
// the same line of the user's code.
std::vector<uint32_t> WhoCame(const Analysis& analysis, const CollectiveNode& node);

// Where a process stands; of one that waits for a nonblocking collective, the call that began it.
const Event* PlaceInOrder(const Analysis& analysis, uint32_t process);

// Those of `processes` that went past a collective in which others wait. Who stands at the same
// place is judged once.
std::vector<uint32_t> ThosePast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes);

// How the two sides of an incident came apart.
struct Divergence {
  PathDivergence path_divergence;  // a: the agreeing side's call, b: the deviating side's
  bool calls_differ = false;
  // The agreeing side's call is the one that the deviating side left out; otherwise the deviating
  // side's call is one that it alone made.
  bool skipped = true;
  bool later_made = false;  // the deviating side made the other's call after all: another order
  // Two calls of one operation, from two call sites of one function, that were not meant for each
  // other: one of them was left out. Otherwise they may be two arms of a branch, with a mistake in
  // one.
  bool separate_calls = false;
  // The deviating side may still come to the other's call, behind its own: nothing decides between
  // a call that it left out and another order.
  bool order_open = false;
  // One side's loop ended earlier.
  bool uneven = false;
  bool deviating_left = false;  // the deviating side is the one that left the loop
  // Whether the call that it went on to is outside of the loop. Where the source says that it is
  // inside, the loop is not uneven.
  bool left_for_certain = false;
  // The loop's call stands under a condition in it: the last round may have gone without it.
  bool conditional_in_loop = false;
  LoopAround loop;  // by the source; no path: by the history only, which repeats so:
  size_t period = 0;
  // How often both made the loop's call, as far as it is on record: rounds of the loop where its
  // lines are known (`by_rounds`), else calls from this place.
  uint64_t rounds = 0;
  bool by_rounds = false;
  bool rounds_lost = false;  // there may have been more
};

Divergence FindDivergence(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
