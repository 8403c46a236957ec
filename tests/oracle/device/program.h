// SPDX-License-Identifier: Apache-2.0
// Small NCCL programs as data: straight-line code for the hosts of 2 to 5 ranks, each with a device
// that runs what its host enqueues (machine.h).
//
//   ranks 2, comm 0 on stream 0: 0,1
//   rank 0:  12 ncclAllReduce 2xncclFloat32;  14 ncclSend peer=1 2xncclFloat32;  990 End
//   rank 1:  …
//
// The number before an operation is its line, which is its call site. Peers and roots are ranks in
// the operation's communicator, which has one stream on all its members.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_PROGRAM_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::oracle::device {

enum class Do {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kSend,
  kRecv,
  kGroupStart,
  kGroupEnd,
  kSyncStream,   // the host waits for the stream of `comm`
  kSyncAll,      // the host waits for all streams of its device
  kHostBarrier,  // MPI_Barrier of all ranks
  kEnd,          // returns from main(), in an MPI program after MPI_Finalize
  kDie,          // killed there
  kExit,         // exits with an error
  kStall,        // computes or sleeps until after the observation
};

constexpr bool IsCollective(Do what) { return what <= Do::kReduce; }
constexpr bool IsRooted(Do what) { return what == Do::kBroadcast || what == Do::kReduce; }
constexpr bool IsMessage(Do what) { return what == Do::kSend || what == Do::kRecv; }
constexpr bool IsOnDevice(Do what) { return what <= Do::kRecv; }
constexpr bool IsSync(Do what) { return what == Do::kSyncStream || what == Do::kSyncAll; }
constexpr bool Reduces(Do what) {
  return what == Do::kAllReduce || what == Do::kReduceScatter || what == Do::kReduce;
}

inline constexpr int kNone = -1;

struct Op {
  Do what = Do::kAllReduce;
  int comm = 0;
  int peer = kNone;  // for messages; otherwise the root
  int count = 1;
  int type = 0;       // 0 ncclFloat32, 1 ncclFloat64
  int reduction = 0;  // 0 sum, 1 max
  int line = 0;
  int outer_line = 0;  // 0: called from main(); otherwise from a function that main() calls there
  int iteration = kNone;  // of the program's loop
};

struct Program {
  int ranks = 2;
  bool mpi = false;                     // also an MPI program
  std::vector<std::vector<int>> comms;  // NCCL's: members by their ranks; comms[0] has all
  std::vector<int> streams;             // by communicator
  std::vector<std::vector<Op>> code;    // by rank
  // The device of this rank does not complete its operation at this index.
  int stuck_rank = kNone;
  int stuck_at = kNone;
  // The network is dead for this collective: all ranks enter it and none returns.
  int frozen_comm = kNone;
  int frozen_number = 0;  // from 1

  const std::vector<int>& Members(int comm) const { return comms[static_cast<size_t>(comm)]; }
  int LocalRank(int comm, int rank) const;  // kNone if it is not a member
};

std::string_view Name(Do what);
// Returns the call and its arguments: "ncclAllReduce sum 2xncclFloat32".
std::string Call(const Op& op);
std::string Text(const Program& program);

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_PROGRAM_H_
