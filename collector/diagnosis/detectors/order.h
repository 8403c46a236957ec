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

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_ORDER_H_
