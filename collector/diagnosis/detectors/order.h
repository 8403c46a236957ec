// SPDX-License-Identifier: Apache-2.0
// Decides whether a rank has passed a call that other ranks wait in, or has not reached it yet. A
// rank that waits elsewhere is blamed only if it has passed the call. If the history does not
// decide, the answer is no.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {

// Whether `process`, which is in the call `stands`, has passed the call `waiting` of process
// `waiter`: it skipped the call. Not passed: it is on its way to the call. In
//   0: waits in Barrier @ main:20
//   1: waits in Recv 1xMPI_INT peer=0 tag=3 @ main:30
// rank 1 has passed the barrier: it never made that call, and line 30 is after line 20. If it
// waited at line 10, it would be on its way. In
//   0-1: Barrier @ main:20
//   0: waits in Barrier @ main:20
//   1: waits in Recv 1xMPI_INT peer=0 tag=3 @ main:30
// rank 1 has not passed the barrier: it made that call in the iteration before, and the receive may
// be a later call of that iteration.
bool HasPassed(const Analysis& analysis, uint32_t process, const Event& stands, uint32_t waiter,
               const Event& waiting);

// Whether both calls come from one line of the user's code. Such a line may make several calls:
// mpi4py's allreduce of objects consists of messages and a broadcast.
bool SameUserCall(const Analysis& analysis, const Event& a, const Event& b);

// All processes with a trace that have entered the node, followed by those that wait in a message
// call of the same line of the user's code, on their way to the node.
std::vector<uint32_t> RanksEntered(const Analysis& analysis, const CollectiveNode& node);

// RanksEntered(), and also the missing members that wait elsewhere and will make this call before
// the call in which the processes `past` the node are.
std::vector<uint32_t> RanksComing(const Analysis& analysis, const CollectiveNode& node,
                                  const std::vector<uint32_t>& past);

// Whether the process has made a message call at the call site of `call` before.
bool HasSentOrReceivedAt(const Analysis& analysis, uint32_t process, const Event& call);

// Which of two calls stuck processes make next, by the call paths, the source and their earlier
// rounds. Keeps references, which must outlive it.
class NextCall {
 public:
  NextCall(const Analysis& analysis, const Event& a, const Event& b)
      : analysis_(analysis), a_(a), b_(b) {}

  // Negative for `a`, positive for `b`, 0 if unknown. Processes at one place are evaluated once.
  int Of(uint32_t process);

 private:
  const Analysis& analysis_;
  const Event& a_;
  const Event& b_;
  std::map<uint64_t, int> known_;  // by call site
};

// The call that a process is in. If the process waits for a nonblocking collective: the call that
// started the collective.
const Event* PlaceInOrder(const Analysis& analysis, uint32_t process);

// The members of `processes` that have passed a collective in which other processes wait
// (HasPassed). Processes at the same place are evaluated once.
std::vector<uint32_t> RanksPast(const Analysis& analysis, const CollectiveNode& node,
                                const std::vector<uint32_t>& processes);

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

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
