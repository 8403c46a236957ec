// Small MPI programs as data: straight-line code for 2 to 5 ranks, small enough that everything
// that can become of them can be tried out (explore.h).
//
//   ranks 3, comm 1: 0,2
//   rank 0:  12 Bcast root=0 2xINT   14 Isend peer=1 tag=7 -> r0   19 Waitall r0   90 Finalize
//   rank 1:  12 Bcast root=0 2xINT   16 Recv peer=any tag=7        90 Finalize
//   …
//
// The number before an operation is its line, which is its call site. Peers and roots are ranks in
// the operation's communicator.
#ifndef ROLLCALL_TESTS_ORACLE_PROGRAM_H_
#define ROLLCALL_TESTS_ORACLE_PROGRAM_H_

#include <string>
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
  kDup,
  kSplit,
  kSend,
  kSsend,
  kRecv,
  kWaitall,  // MPI_Wait if it is for one request
  kWaitany,
  kWaitsome,
  kPoll,  // MPI_Test, until it is true
  kFinalize,
  kDie,    // killed there
  kExit,   // leaves the program without MPI_Finalize
  kStall,  // computes, or sleeps, for as long as anybody looks
};

constexpr bool IsCollective(Do what) { return what <= Do::kSplit; }
constexpr bool IsSend(Do what) { return what == Do::kSend || what == Do::kSsend; }
constexpr bool IsWait(Do what) { return what >= Do::kWaitall && what <= Do::kPoll; }

inline constexpr int kAny = -1;
inline constexpr int kNone = -1;

struct Op {
  Do what = Do::kBarrier;
  int comm = 0;
  int peer = kNone;  // of a message, kAny: MPI_ANY_SOURCE; else the root
  int tag = 0;       // kAny: MPI_ANY_TAG
  int count = 1;
  int type = 0;               // 0 MPI_INT, 1 MPI_DOUBLE
  int reduction = 0;          // 0 MPI_SUM, 1 MPI_MAX
  int request = kNone;        // that it makes: it is the nonblocking variant then
  std::vector<int> requests;  // that a wait is for
  int line = 0;
  int outer_line = 0;     // 0: called from main(); else from a function that main() calls there
  int iteration = kNone;  // of the program's loop
  bool dies_inside = false;
};

struct Program {
  int ranks = 2;
  int thread_level = 0;
  std::vector<std::vector<int>> comms;  // members by their ranks in comms[0], the world
  std::vector<std::vector<Op>> code;    // by world rank
  // The network is dead for this operation: everybody arrives and nobody comes out.
  int frozen_comm = kNone;
  int frozen_number = 0;  // from 1

  int LocalRank(int comm, int rank) const;  // kNone if it is no member
};

std::string Text(const Op& op);
std::string Text(const Program& program);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_PROGRAM_H_
