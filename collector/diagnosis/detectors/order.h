// Whether a rank went past a call that others wait in, or has not reached it yet. All accusations
// of ranks that wait elsewhere depend on this; if the history does not decide, the answer is no.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_

#include <cstdint>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// `waiting` is a call of process `waiter`; `stands` is the call that `process` is in.
bool HasPassed(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
               const Event& waiting);

// One line of the user's code may make several calls: mpi4py's allreduce of objects consists of
// messages and a broadcast.
bool SameUserCall(const Analysis& analysis, const Event& a, const Event& b);

// All processes with a trace that have entered it, and after them those that wait on the way there,
// on the same line of the user's code.
std::vector<uint32_t> WhoCame(const Analysis& analysis, const CollectiveNode& node);

// With them, the members that wait elsewhere and make this call before that of those who are `past`
// it: they are on their way.
std::vector<uint32_t> WhoComes(const Analysis& analysis, const CollectiveNode& node,
                               const std::vector<uint32_t>& past);

// The process has made a message call at the same call site before.
bool HasSentOrReceivedAt(const Analysis& analysis, uint32_t process, const Event& call);

// Which of two calls a process at `here` makes next, as far as their call paths and the source show
// it: < 0: `a`; > 0: `b`; 0: unknown.
int WhichComesNext(const Analysis& analysis, const Event& here, const Event& a, const Event& b);

// The call that a process is in; for one that waits for a nonblocking collective, the call that
// started it.
const Event* PlaceInOrder(const Analysis& analysis, uint32_t process);

// Those of `processes` that went past a collective in which others wait. Processes at the same
// place are evaluated once.
std::vector<uint32_t> ThosePast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes);

// How the two sides of an incident diverged.
struct Divergence {
  PathDivergence path_divergence;  // a: the agreeing side's call; b: the deviating side's
  bool calls_differ = false;
  // True: the deviating side skipped the agreeing side's call. False: only the deviating side made
  // its call.
  bool skipped = true;
  bool later_made = false;  // the deviating side made the other call later: a different order
  // Two calls of one operation, from two call sites of one function, that were not meant to match:
  // one of them was skipped. Otherwise they may be two arms of a branch with a mistake in one.
  bool separate_calls = false;
  // The deviating side may still reach the other call after its own: the records do not decide
  // between a skipped call and a different order.
  bool order_open = false;
  // One side's loop ended earlier.
  bool uneven = false;
  bool deviating_left = false;  // the deviating side left the loop
  // Whether the call that it continued to is certainly outside the loop. If the source shows that
  // it is inside, the loop is not uneven.
  bool left_for_certain = false;
  // The loop's call is under a condition: the last iteration may have skipped it.
  bool conditional_in_loop = false;
  // The leaving side may have skipped a call of the loop, and still be in it.
  bool MayBeInLoop() const { return !left_for_certain || conditional_in_loop; }
  EnclosingLoop loop;  // from the source; without a path: from the history only, with this period:
  size_t period = 0;
  // How often both sides made the loop's call, as far as it is recorded: iterations if the lines of
  // the loop are known (`by_iterations`), otherwise calls from this place.
  uint64_t iterations = 0;
  bool by_iterations = false;
  bool iterations_lost = false;  // there may have been more
};

Divergence FindDivergence(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
