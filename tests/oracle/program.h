// SPDX-License-Identifier: Apache-2.0
// Small MPI programs as data: straight-line code for 2 to 5 ranks, small enough that all of their
// possible executions can be explored (explore.h).
//
//   ranks 3, comm 1: 0,2
//   rank 0:  12 Bcast root=0 2xINT   14 Isend peer=1 tag=7 -> r0   19 Waitall r0   90 Finalize
//   rank 1:  12 Bcast root=0 2xINT   16 Recv peer=any tag=7        90 Finalize
//   …
//   thread of rank 1:  31 Recv on=1 peer=0 tag=30   992 End
//
// MPI_Sendrecv is one call of three operations: Irecv, Isend and Waitall (MPI 4.0, 3.10).
// MPI_Startall is one call that starts several handles.
//
// The number before an operation is its line, which is its call site. Peers and roots are ranks in
// the operation's communicator; on an intercommunicator, in the other group.
#ifndef ROLLCALL_TESTS_ORACLE_PROGRAM_H_
#define ROLLCALL_TESTS_ORACLE_PROGRAM_H_

#include <string>
#include <utility>
#include <vector>

namespace rollcall::oracle {

enum class Do {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kScan,
  kGatherv,
  kScatterv,
  kAllgatherv,
  kAlltoallv,
  kReduceScatter,
  kNeighborAllgather,  // over the communicator's topology
  kNeighborAlltoall,
  kNeighborAllgatherv,
  kNeighborAlltoallv,
  kDup,
  kSplit,
  kSend,
  kSsend,
  kRecv,
  kMprobe,
  kMrecv,  // receives the message that the Mprobe matched
  kProbe,
  kPsend,  // partitioned: only with a handle
  kPrecv,
  kWaitall,  // MPI_Wait if there is one request
  kWaitany,
  kWaitsome,
  kPoll,      // MPI_Test, until it is true
  kIprobe,    // until it is true
  kParrived,  // until it is true: partition `partition` of a started handle
  kPready,    // marks `partitions` more partitions of a started handle
  kFree,      // MPI_Request_free of a handle
  kFinalize,
  kDie,    // killed there
  kExit,   // leaves the program without MPI_Finalize
  kStall,  // computes or sleeps until after the observation
  kSpawn,  // starts the thread of line `thread`
  kSleep,  // of a thread: computes or sleeps for a while
  kEnd,    // of a thread: it ends
};

constexpr bool IsCollective(Do what) { return what <= Do::kSplit; }
constexpr bool IsSend(Do what) { return what == Do::kSend || what == Do::kSsend; }
constexpr bool IsProbe(Do what) {
  return what == Do::kMprobe || what == Do::kProbe || what == Do::kIprobe;
}
constexpr bool IsPartitioned(Do what) { return what == Do::kPsend || what == Do::kPrecv; }
constexpr bool IsMessage(Do what) { return what >= Do::kSend && what <= Do::kPrecv; }
constexpr bool IsNeighborhood(Do what) {
  return what >= Do::kNeighborAllgather && what <= Do::kNeighborAlltoallv;
}
constexpr bool HasRoot(Do what) {
  return what == Do::kBcast || what == Do::kReduce || what == Do::kGather || what == Do::kScatter ||
         what == Do::kGatherv || what == Do::kScatterv;
}
constexpr bool Reduces(Do what) {
  return what == Do::kReduce || what == Do::kAllreduce || what == Do::kScan ||
         what == Do::kReduceScatter;
}
// Returns whether each member or neighbor has its own count.
constexpr bool HasCountsOfItsOwn(Do what) {
  return (what >= Do::kGatherv && what <= Do::kReduceScatter) || what == Do::kNeighborAllgatherv ||
         what == Do::kNeighborAlltoallv;
}
constexpr bool IsWait(Do what) { return what >= Do::kWaitall && what <= Do::kPoll; }

inline constexpr int kAny = -1;
inline constexpr int kNone = -1;
// On an intercommunicator, in the root's group: the root, and the other members.
inline constexpr int kRootSelf = -2;
inline constexpr int kRootNone = -3;

struct Op {
  Do what = Do::kBarrier;
  int comm = 0;
  int peer = kNone;  // for messages, kAny: MPI_ANY_SOURCE; otherwise the root
  int tag = 0;       // kAny: MPI_ANY_TAG
  int count = 1;
  int type = 0;               // 0 MPI_INT, 1 MPI_DOUBLE
  int reduction = 0;          // 0 MPI_SUM, 1 MPI_MAX, 2 MPI_MIN, 3 the program's own
  int request = kNone;        // the request that it creates if it is nonblocking
  std::vector<int> requests;  // the requests of a wait
  // A persistent request: the operation with `init` creates it; the others start it.
  int handle = kNone;
  bool init = false;
  int message = kNone;     // for Mprobe and Mrecv
  std::vector<int> sends;  // v-collectives: counts by member, or by neighbor
  std::vector<int> recvs;
  bool in_place = false;  // MPI_IN_PLACE for sending (at the root of a Scatter: for receiving)
  int partitions = 1;     // of a partitioned handle; for Pready: the number that it marks
  int partition = 0;      // for Parrived
  bool fused = false;     // one call with the next operation: MPI_Sendrecv, MPI_Startall
  int line = 0;
  int outer_line = 0;  // 0: called from main(); otherwise from a function that main() calls there
  int iteration = kNone;  // of the program's loop
  bool dies_inside = false;
  int thread = kNone;     // for kSpawn
  bool rejected = false;  // MPI returns an error for an argument, and the call has no effect
  bool fails = false;     // it takes effect, but returns an error
};

// A thread of a rank other than the main thread.
struct ThreadOfRank {
  int rank = 0;
  bool called = false;   // it has called MPI before its first operation
  bool spawned = false;  // by an operation of the main thread; otherwise it exists from the start
};

// An edge of a neighborhood collective, with the position of each end in the other's list.
struct Edge {
  int from = 0;  // ranks in the communicator
  int from_place = 0;
  int to = 0;
  int to_place = 0;
};

struct Topology {
  std::vector<int> dims;  // Cartesian; empty: a graph
  bool periodic = false;
  std::vector<std::pair<int, int>> graph;  // distributed: from, to, as both ends list them
  bool IsThere() const { return !dims.empty() || !graph.empty(); }
};

struct Program {
  int ranks = 2;
  int thread_level = 0;
  std::vector<std::vector<int>> comms;  // members by their ranks in comms[0], the world
  // By communicator: the size of its first group; 0 or missing: no intercommunicator.
  std::vector<int> split;
  std::vector<Topology> topologies;  // by communicator; the last may be missing
  // By line of code: first the main thread of each rank, by its rank in the world; then `threads`.
  // Only one thread of a rank at a time makes collective calls on a communicator: those of the
  // other threads come after all of the main thread.
  std::vector<std::vector<Op>> code;
  std::vector<ThreadOfRank> threads;
  // The network is dead for this operation: all ranks enter it and none returns.
  int frozen_comm = kNone;
  int frozen_number = 0;  // from 1

  // Parameters `rank` below may also be a line of the rank.
  int RankOf(int line) const {
    return line < ranks ? line : threads[static_cast<size_t>(line - ranks)].rank;
  }
  int lines() const { return static_cast<int>(code.size()); }
  int FirstGroup(int comm) const {
    return static_cast<size_t>(comm) < split.size() ? split[static_cast<size_t>(comm)] : 0;
  }
  bool IsInter(int comm) const { return FirstGroup(comm) != 0; }
  int LocalRank(int comm, int rank) const;  // in its own group; kNone if it is not a member
  bool InFirstGroup(int comm, int rank) const;
  // Returns the ranks that `rank` can address there: all members, or those of the other group.
  std::vector<int> Others(int comm, int rank) const;
  const Topology& TopologyOf(int comm) const;
  std::vector<Edge> Edges(int comm) const;
  // Returns the number of positions in a member's list of sources or destinations.
  int Places(int comm, int local_rank, bool receives) const;
  // Returns whether two members communicate: not within one group of an intercommunicator.
  bool Talk(int comm, int a, int b) const {
    return !IsInter(comm) || InFirstGroup(comm, a) != InFirstGroup(comm, b);
  }
};

// Repairs a program after operations were removed: a start is fused only with a following start.
void MendStartalls(std::vector<Op>* ops);

std::string Text(const Op& op);
std::string Text(const Program& program);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_PROGRAM_H_
