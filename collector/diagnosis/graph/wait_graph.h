// SPDX-License-Identifier: Apache-2.0
// The wait-for graph: every open call, what it needs, and what can still complete it.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_WAIT_GRAPH_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_WAIT_GRAPH_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/diagnosis/graph/options.h"
#include "collector/matching/communicator_history.h"
#include "collector/matching/neighborhood.h"
#include "collector/model/trace.h"

namespace rollcall {

// What a process does, as far as it matters to the processes that wait for it.
enum class Activity : uint8_t {
  kRunning,  // alive, outside every call
  kBlocked,  // inside a call
  kPolling,  // only tests requests, or probes, repeatedly
  kLeft,     // entered MPI_Finalize; takes part in no further operation
  kEnded,    // ended without MPI_Finalize, by an uncaught exception, or inside a rejected call
};

// One collective that a process is inside of, or has started and waits for.
struct CollectiveNode {
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;
  uint64_t start = 0;  // n of a persistent collective: its n-th start; `sequence` is of its init
  std::vector<uint32_t> inside;   // processes that wait in it
  std::vector<uint32_t> missing;  // members with a trace that have not entered it
  std::vector<int32_t> absent;    // world ranks of members without a trace
  bool unknown = false;           // whether some member has started it is not recorded
};

// The processes that a receive from any source waits for. All receives with the same candidates
// share one list, because separate lists would be quadratic if all ranks wait this way. A waiter is
// no candidate for its own message. Because it waits, it is in none of the three lists.
struct AnySourceWait {
  std::vector<uint32_t> members;
  std::vector<uint32_t> ended;
  std::vector<uint32_t> left;
  std::vector<uint32_t> running;
  bool absent = false;       // there are also candidates without a trace
  bool other_group = false;  // of an intercommunicator: waiters are not members
};

// One dependency of an open call: exactly one of the first three fields is set.
struct WaitDependency {
  uint32_t node = kNoIndex;        // a CollectiveNode
  uint32_t process = kNoIndex;     // a message: the process that must send or receive it
  uint32_t any_source = kNoIndex;  // a message: index into WaitGraph::any_source
  std::vector<uint32_t> relevant;  // node: the missing members that it needs; empty: all
  // The standard requires it. False: buffering or an early return may make it unnecessary.
  bool strict = true;
  const Event* event = nullptr;  // the call, or the call that made the request
  bool sends = false;            // a message to send, not to receive
  bool uncounted = false;        // it may have been sent or taken: see Process::channels_lost
  bool polled = false;           // the thread that waits for it polls; it is not inside a call
  bool unanswered = false;       // node: a source that has entered it never sends the data
  uint32_t unmarked = 0;         // partitions that `process` has not marked ready
};

struct ProcessView {
  Activity activity = Activity::kRunning;
  const OpenCall* open = nullptr;   // the innermost open call
  const Event* finalize = nullptr;  // of MPI_Finalize
  std::vector<WaitDependency> dependencies;
  bool any = false;  // one of the dependencies suffices
  // The wait may end without an action of any other process: the process polls and may do something
  // else next, or another of its threads might act (OtherThreads). See stillness.h.
  bool weak = false;
  bool released = false;  // a dependency is fulfilled, or cannot be examined

  bool WaitsUncounted() const {
    return std::ranges::any_of(
        dependencies, [](const WaitDependency& dependency) { return dependency.uncounted; });
  }
};

struct WaitGraph {
  std::vector<ProcessView> processes;  // parallel to Trace::processes
  std::vector<CollectiveNode> nodes;
  std::vector<AnySourceWait> any_source;
  // see NodeKey(); one entry for each start
  std::unordered_multimap<uint64_t, uint32_t> node_index;
  // By communicator; only of communicators in whose neighborhood collectives processes wait.
  std::unordered_map<uint32_t, std::vector<OddEdge>> odd_edges;

  // For a message: the number of other processes that could send it. The second form returns those
  // with the given activity (kEnded, kLeft or kRunning).
  size_t Candidates(const WaitDependency& dependency) const {
    if (dependency.any_source == kNoIndex) return 1;
    const AnySourceWait& all = any_source[dependency.any_source];
    return all.members.size() - (all.other_group ? 0 : 1);
  }
  std::vector<uint32_t> Candidates(const WaitDependency& dependency, Activity activity) const;

  // The partitioned send that a process waits for although it has to mark partitions ready itself;
  // nullptr if there is none.
  const WaitDependency* OwnUnmarked(uint32_t process) const;

  static uint64_t NodeKey(uint32_t communicator, uint64_t sequence) {
    return uint64_t{communicator} << 40 ^ sequence;
  }
};

WaitGraph BuildWaitGraph(const Trace& trace, const DiagnoseOptions& options,
                         const std::vector<CommunicatorHistory>& histories);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_GRAPH_WAIT_GRAPH_H_
