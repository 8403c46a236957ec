// What MPI does with a program (program.h), step by step: the rules, and nothing else. Shares no
// code with the diagnosis engine, on purpose.
//
// The rules, by MPI 4.0:
//  3.4    A standard send may return before a receive is posted (buffered) or wait for it; both are
//         right. A synchronous send (Ssend) waits until the matching receive has been started.
//  3.5    Messages do not overtake: of two messages from one sender that match a receive, the first
//         is taken; of two posted receives that match a message, the first takes it. A wildcard
//         receive may take any sender's first matching message. A pair that can match makes
//         progress, whatever the two ranks do otherwise.
//  3.8    Probe waits for a message that no receive has taken; Mprobe takes it, and the sender goes
//  on
//         once it is received (Mrecv).
//  4.2    Partitioned messages meet handle by handle, in the order of the initialisations; a start
//         sends nothing, each Pready may. The receive needs all partitions to be marked ready, and
//         so does the send, which may be buffered then. One partition may arrive before the others.
//  3.9, 6.13  A persistent request works like a nonblocking one of its own each time it is started;
//         collective ones match by the order of their initialisations, which are collectives, too.
//  3.7.3  Wait and Waitall return when all their requests are complete, Waitany and Waitsome when
//         one is. Who tests, again and again, may give up at any time.
//  6.1    A collective may return as soon as the caller's part is done, or synchronise all members;
//         6.14: a program may rely on neither. What nobody can do without: a barrier needs all
//         members (6.3), a receiver of data needs those whose data it gets. No data (count 0), no
//         need. Between the groups of an intercommunicator each needs the other one only.
//  6.2    MPI_IN_PLACE: what a member sends is what stands where it receives. An Alltoallv in place
//         sends by the counts that it receives by.
//  6.12   Nonblocking collectives match in the order in which they are started.
//  7.4.2  Dup carries no information from one member to another (advice to implementors: it may
//         be done without communication); a split needs everybody's colour.
//  8.6    A neighborhood collective receives along the edges that lead to the caller, and needs
//         nobody else. Of two edges between the same two, each end lists them in one order; on a
//         Cartesian one, what is sent down comes from above.
//  9.3    A call that MPI rejects for an argument does nothing, and has no number; under
//         MPI_ERRORS_RETURN the rank goes on. Other errors come from calls that did their part.
//  11.2.2 Who has entered Finalize calls nothing any more.
//  11.6.1 Of a rank's threads, one that blocks keeps no other one from going on. Their messages are
//         in no order, one thread's against another's. The main thread joins them to finalize.
#ifndef ROLLCALL_TESTS_ORACLE_MACHINE_H_
#define ROLLCALL_TESTS_ORACLE_MACHINE_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/program.h"

namespace rollcall::oracle {

// How the library decides where the standard lets it.
enum class Library {
  kSynchronous,  // no send is buffered, every collective synchronises all
  kPermissive,   // every send is buffered, every collective returns as early as it may; who polls
                 // gives up
  kBuffering,    // every send is buffered, every collective synchronises all
  kAsDecided,    // operation by operation: Cell::early
};

struct Cell {              // of one operation
  bool early = false;      // kAsDecided: buffered, or returns as soon as its part is done
  bool finished = false;   // the request that it made was waited for
  int match_rank = kNone;  // of a message: the operation at the other end
  int match_at = kNone;
};

enum class Status { kGoing, kLeft, kDead, kStalled };

struct LineState {
  Status status = Status::kGoing;
  int at = 0;  // index of the next operation, or of the one it is inside of
  bool inside = false;
  bool gives_up = false;  // when it polls
};

// What a wrong operation, of which the members' arguments do not fit together, does: nothing is
// promised, and both were seen.
enum class WrongCall : char { kHangs, kPasses };

struct State {
  std::vector<LineState> lines;          // of code
  std::vector<std::vector<Cell>> cells;  // by line and index
  // By rank; none, or who is taken to do anything next: whatever others wait for it to do, it does.
  std::vector<bool> free;
  std::vector<WrongCall> wrong;  // by instance
  // Equal if the same can still happen: with whom a message was matched does not matter for that.
  std::string Key() const;
};

// One collective operation: the n-th of each member on a communicator.
struct Instance {
  int comm = 0;
  int number = 0;
  int start = 0;  // of a persistent collective: the n-th of this initialisation
  std::vector<std::pair<int, int>> calls;  // (line, index), of members that ever make it
  bool goes_wrong = false;                 // once all of them have made it, they do not fit
};

struct Step {
  enum class What { kEnter, kMatch, kReturn, kResume } what = What::kEnter;
  int line = 0;  // of code; kMatch: the receiver's
  int at = 0;    // kMatch: the receive
  int from = 0;  // kMatch: the sender's line and its send
  int from_at = 0;
  bool choice = false;  // another step may be possible only if this one is not taken
};

class Machine {
 public:
  explicit Machine(const Program& program);

  State Start() const;
  // All steps that are possible now. A rank that stalls may go on if `resume` is set; a thread that
  // sleeps always.
  std::vector<Step> Steps(const State& state, Library library, bool resume) const;
  void Take(const Step& step, Library library, State* state) const;

  // Do the calls that have been entered fit together? The standard's rules, pair by pair.
  bool Fits(const State& state, int instance) const;
  // A `rank` that calls is a line of code, here and below.
  int InstanceOf(int rank, int at) const {
    return instance_of_[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  const std::vector<Instance>& instances() const { return instances_; }
  const Op& At(int rank, int at) const {
    return program_.code[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  bool Entered(const State& state, int rank, int at) const;
  // Is the request that the operation made complete, or may the operation return?
  bool Complete(const State& state, Library library, int rank, int at) const;
  // The operation of `rank` that made a request.
  int MakerOf(int rank, int request) const;

 private:
  bool CollectiveComplete(const State& state, Library library, int rank, int at) const;
  bool Needs(int rank, const Op& op, int other) const;
  bool PartitionsComplete(const State& state, Library library, int rank, int at) const;
  int Ready(const State& state, int rank, int at) const;
  bool AllReady(const State& state, int rank, int at) const;
  bool Arrived(const State& state, Library library, int rank, int at) const;
  bool Visible(const State& state, int rank, const Op& probe) const;
  bool EdgesFit(const State* state, int instance, int rank, const Op& from) const;
  bool PairFits(int a, const Op& from, int b, const Op& to) const;
  // The message that Mprobe found is received, or about to be.
  bool Received(const State& state, int rank, int at) const;
  bool Fit(const State* state, int instance) const;  // nullptr: of all calls that are ever made
  bool GoesWrong(int rank, int at) const;
  bool Matches(const Op& receive, int receiver, const Op& send, int sender) const;
  bool IsFree(const State& state, int line) const {
    return !state.free.empty() && state.free[static_cast<size_t>(program_.RankOf(line))];
  }
  bool FromFree(const State& state, int rank, int at) const;
  bool ThreadsCompete(int receiver, int receive, int sender, int send) const;
  bool ThreadsEnded(const State& state, int rank) const;
  // The operation of the main thread that starts this one, if there is one.
  int SpawnOf(int line) const;
  void AddMatches(const State& state, std::vector<Step>* steps) const;

  void PairPartitioned();
  // Of the start of a partitioned request: the start that it meets, if that is ever made.
  std::pair<int, int> OtherEnd(int rank, int at) const {
    return other_end_[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }

  const Program& program_;
  std::vector<Instance> instances_;
  std::vector<std::vector<int>> instance_of_;
  std::vector<std::vector<std::pair<int, int>>> other_end_;
};

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_MACHINE_H_
