// SPDX-License-Identifier: Apache-2.0
// How the two sides of an incident diverged: a skipped call, an additional call, another order, or
// a loop that ended earlier on one side.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DIVERGENCE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DIVERGENCE_H_

#include <cstddef>
#include <cstdint>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// How the two sides of an incident diverged.
struct Divergence {
  PathDivergence path_divergence;  // a: the agreeing side's call; b: the deviating side's
  bool calls_differ = false;
  // True: the deviating side skipped the agreeing side's call. False: the deviating side made an
  // additional call.
  bool skipped = true;
  bool later_made = false;  // the deviating side made the other call later: the order differs
  // The calls come from two call sites of one function and were not meant to match: one of them was
  // skipped. If false, they may be in two arms of one branch, with a mistake in one arm.
  bool separate_calls = false;
  // The deviating side may still make the other call after its own. The records do not decide
  // between a skipped call and a different order.
  bool order_open = false;
  // One side's loop ended earlier.
  bool uneven = false;
  bool deviating_left = false;  // the deviating side left the loop
  // The call to which that side continued is certainly outside the loop. If the source shows that
  // the call is inside the loop, `uneven` is false.
  bool left_for_certain = false;
  // The loop's call is under a condition: the last iteration may have skipped it.
  bool conditional_in_loop = false;
  // The side that seems to have left the loop may still be in it, and have skipped one of its
  // calls.
  bool MayBeInLoop() const { return !left_for_certain || conditional_in_loop; }
  EnclosingLoop loop;  // by the source; no path: by the history, with this period:
  size_t period = 0;
  // How often both sides made the loop's call, as far as it is recorded. The number counts
  // iterations if `by_iterations` is set, and otherwise calls from this place.
  uint64_t iterations = 0;
  bool by_iterations = false;
  bool iterations_lost = false;  // older iterations may be unrecorded
};

// Compares the calls of the two sides. In
//   0-3: Bcast root=0 1xMPI_DOUBLE @ main:40 > solve:11
//   0-2: waits in Allreduce sum 1xMPI_DOUBLE @ main:40 > solve:16
//   3: waits in Barrier @ main:41
// rank 3, the deviating side, has `skipped` the Allreduce: main:41 is after main:40. In
//   repeat 4
//     0-3: Allreduce sum 1xMPI_DOUBLE @ main:14
//     0-3: Bcast root=0 1xMPI_DOUBLE @ main:16
//   end
//   0,2,3: waits in Allreduce sum 1xMPI_DOUBLE @ main:14
//   1: waits in Gather root=0 1xMPI_DOUBLE @ main:20
// the result is `uneven` with `deviating_left`: line 20 of rank 1 is after the loop, whose next
// iteration the others have begun. The period is 2, and `iterations` is 4.
Divergence FindDivergence(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_DIVERGENCE_H_
