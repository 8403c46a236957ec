// SPDX-License-Identifier: Apache-2.0
// Larger MPI programs without wildcards, as their source code: functions, loops, conditions and
// calls. Their execution does not depend on the schedule, so one run shows who is stuck.
//
//   5  void solve() {
//   6    for (int step = 0; step < 40; ++step) {
//   7      if (rank == 3 && step == 17) {
//   8        break;
//   9      }
//  10      exchange();
//  11      MPI_Allreduce(c1);
//  …
//
// All ranks execute main(). A call has arguments by rank; conditions select ranks and rounds.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_PROGRAM_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_PROGRAM_H_

#include <string>
#include <vector>

namespace rollcall::oracle::loops {

// No rank: MPI_PROC_NULL as a peer.
inline constexpr int kNone = -1;

// A call as one rank makes it. Peers and roots are ranks in the communicator.
struct Call {
  enum class What {
    kNothing,  // this rank makes no call here
    kCollective,
    kSend,
    kRecv,
    kSendrecv,
    kIsend,
    kIrecv,
    kSendInit,
    kRecvInit,
    kStartall,
    kWaitall,
    kFinalize,
    kForever,  // it stays outside MPI
  };
  // Whose data a member needs. A library may nevertheless let it wait for all, but in kNeighbors.
  enum class Needs { kAll, kRoot, kAllAtRoot, kNeighbors };

  What what = What::kNothing;
  int comm = 0;
  int to = kNone;
  int to_tag = 0;
  int from = kNone;
  int from_tag = 0;
  // Numbers of the rank's own: those that it makes, starts or waits for. From `persistent` on they
  // are persistent.
  std::vector<int> requests = {};
  // Collectives.
  std::string operation = {};  // without "MPI_"
  std::string arguments = {};  // must be equal on all ranks
  Needs needs = Needs::kAll;
  int root = kNone;
  std::vector<int> sends = {};  // MPI_Alltoallv: by member
  std::vector<int> recvs = {};
};
inline constexpr int kFirstPersistent = 1000;

// Returns the call as in a text trace (tests/support/text_trace.md), without its place.
std::string Text(const Call& call);

// Holds for some of the ranks, in some rounds of the innermost loop that is being executed.
struct Condition {
  std::string text;        // in the source
  std::vector<int> ranks;  // empty: all
  int first_round = 0;
  int rounds = 1'000'000;  // from first_round on
  int every = 1;           // of these, every n-th
  bool Holds(int rank, int round) const;
};

struct Node;
using Block = std::vector<Node>;

struct Node {
  enum class Kind {
    kCall,
    kInvoke,  // calls a function
    kLoop,
    kIf,
    kTry,    // catches what its body throws
    kScope,  // calls a function (a destructor) when its body is left in whatever way
    kBreak,
    kContinue,
    kReturn,
    kThrow,
  };
  Kind kind = Kind::kCall;
  std::string text;         // kCall: in the source
  std::vector<Call> calls;  // kCall: by rank in the world
  std::vector<Call> other;  // kCall: if not empty, instead of `calls` where the condition holds
  int function = kNone;     // kInvoke, kScope: index of the function
  int rounds = 0;           // kLoop
  std::vector<int> more;    // kLoop: further rounds by rank; may be empty, and may be negative
  Condition condition;      // kIf, kCall
  Block body;
  Block otherwise;    // kIf
  int line = 0;       // set by SetLines(): where it begins
  int last_line = 0;  // of a block: its closing brace
};

struct Function {
  std::string name;
  Block body;
};

// A connection of a neighborhood, and which of its ends list it.
struct Edge {
  int from = 0;
  int to = 0;
  bool from_lists = true;
  bool to_lists = true;
};

struct Grid {
  std::vector<int> dims;  // empty: there is none
  bool periodic = false;

  int Coordinate(int local_rank, int dimension) const;
  // Returns the neighbor in a dimension, `step` (1 or -1) further; kNone beyond an end.
  int Neighbor(int local_rank, int dimension, int step) const;

 private:
  int Stride(int dimension) const;
};

struct Comm {
  std::vector<int> members;      // ranks in the world; of comms[0], all
  Grid grid = {};                // its Cartesian topology
  std::vector<Edge> graph = {};  // its distributed graph; empty: none

  int size() const { return static_cast<int>(members.size()); }
  int LocalRank(int rank) const;  // kNone if it is not a member
  // Returns whether `to` waits for data of `from` in a neighborhood collective, and whether `from`
  // sends it.
  bool Expects(int from, int to) const;
  bool Sends(int from, int to) const;
};

struct Program {
  std::vector<Comm> comms;          // comms[0] is MPI_COMM_WORLD
  std::vector<Function> functions;  // in the order of the source; the last is main()
  std::string source;               // set by SetLines(), one file: kFile

  int ranks() const { return comms[0].size(); }
};
inline constexpr char kFile[] = "app.c";

// Writes the source, and gives each node its lines.
void SetLines(Program* program);

// Returns the communicators, and the source with its line numbers.
std::string Text(const Program& program);

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_PROGRAM_H_
