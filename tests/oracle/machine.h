// SPDX-License-Identifier: Apache-2.0
// Simulates the execution of a program (program.h) by MPI step by step, with only the rules of the
// standard. It deliberately shares no code with the diagnosis engine.
//
// The rules of MPI 4.0:
//  3.4    A standard send may return before a receive is posted (buffered) or wait for it; both are
//         correct. A synchronous send (Ssend) waits until the matching receive has been started.
//  3.5    Messages do not overtake: of two messages from one sender that match a receive, the first
//         is received; of two posted receives that match a message, the first receives it. A
//         wildcard receive may receive the first matching message of any sender. A pair that can
//         match makes progress, whatever else the two ranks do.
//  3.8    Probe waits for a message that no receive has matched; Mprobe matches it, and the sender
//         continues after it is received (Mrecv).
//  4.2    Partitioned messages match by handle, in the order of the initialisations; a start sends
//         no data, each Pready may. The receive needs all partitions to be marked ready, and so
//         does the send, which may be buffered then. One partition may arrive before the others.
//  3.9, 6.13  Each start of a persistent request acts like a separate nonblocking operation;
//         collective ones match in the order of their initialisations, which are also collectives.
//  3.7.3  Wait and Waitall return when all their requests are complete, Waitany and Waitsome when
//         one is. A rank that tests repeatedly may stop at any time.
//  6.1    A collective may return as soon as the caller's part is done, or synchronise all members;
//         6.14: a program may rely on neither. In any case a barrier needs all members (6.3), and a
//         receiver of data needs the members that send it; with count 0 it needs none. On an
//         intercommunicator each group needs only the other one.
//  6.2    MPI_IN_PLACE: a member sends the content of its receive buffer. An Alltoallv in place
//         sends with its receive counts.
//  6.12   Nonblocking collectives match in the order in which they are started.
//  7.4.2  Dup carries no information from one member to another (advice to implementors: it may
//         be done without communication); a split needs the colours of all members.
//  8.6    A neighborhood collective receives along the edges that lead to the caller, and needs no
//         other rank. Both ends list several edges between the same two ranks in the same order; on
//         a Cartesian topology, data sent downwards is received from above.
//  9.3    A call that MPI rejects for an argument has no effect and no sequence number; under
//         MPI_ERRORS_RETURN the rank continues. Other errors are returned by calls that took
//         effect.
//  11.2.2 A rank that has entered Finalize makes no more calls.
//  11.6.1 A blocked thread of a rank does not block its other threads. The messages of different
//         threads are not ordered. The main thread joins the others before it finalizes.
#ifndef ROLLCALL_TESTS_ORACLE_MACHINE_H_
#define ROLLCALL_TESTS_ORACLE_MACHINE_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/program.h"

namespace rollcall::oracle {

// How the library decides where the standard permits several behaviours.
enum class Library {
  kSynchronous,  // no send is buffered, every collective synchronises all
  kPermissive,   // every send is buffered, every collective returns as early as it may; polling
                 // stops
  kBuffering,    // every send is buffered, every collective synchronises all
  kAsDecided,    // for each operation by Cell::early
};

struct Cell {              // the state of one operation
  bool early = false;      // kAsDecided: buffered, or returns as soon as its part is done
  bool finished = false;   // the request that it created was waited for
  int match_rank = kNone;  // for a message: the operation at the other end
  int match_at = kNone;
};

enum class Status { kGoing, kLeft, kDead, kStalled };

struct LineState {
  Status status = Status::kGoing;
  int at = 0;  // index of the next operation, or of the current one
  bool inside = false;
  bool gives_up = false;  // stops polling before the poll is true
};

// The behaviour of an operation whose members' arguments do not match: the standard defines none,
// and both occur in practice.
enum class WrongCall : char { kHangs, kPasses };

struct State {
  std::vector<LineState> lines;          // of code
  std::vector<std::vector<Cell>> cells;  // by line and index
  // By rank; empty if none is free. A free rank may make any call next, so no operation that waits
  // for it is assumed to block.
  std::vector<bool> free;
  std::vector<WrongCall> wrong;  // by instance
  // Equal for states with the same future; the partner of a matched message does not affect it.
  std::string Key() const;
};

// One collective operation: the n-th of each member on a communicator.
struct Instance {
  int comm = 0;
  int number = 0;
  int start = 0;                           // for a persistent collective: its n-th start
  std::vector<std::pair<int, int>> calls;  // (line, index) of each member whose code has the call
  bool goes_wrong = false;                 // the calls do not match once all members have made them
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
  // Returns all steps that are possible now. A stalled rank may continue only if `resume` is set; a
  // sleeping thread always may.
  std::vector<Step> Steps(const State& state, Library library, bool resume) const;
  void Take(const Step& step, Library library, State* state) const;

  // Returns whether the calls that have been entered match by the standard's rules, pair by pair.
  bool Fits(const State& state, int instance) const;
  // Here and below, a `rank` that calls is a line of code.
  int InstanceOf(int rank, int at) const {
    return instance_of_[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  const std::vector<Instance>& instances() const { return instances_; }
  const Op& At(int rank, int at) const {
    return program_.code[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  bool Entered(const State& state, int rank, int at) const;
  // Returns whether the request of the operation is complete or, without one, whether it may
  // return.
  bool Complete(const State& state, Library library, int rank, int at) const;
  // Returns the operation of `rank` that created a request.
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
  // Returns whether the message that Mprobe matched is received or about to be.
  bool Received(const State& state, int rank, int at) const;
  bool Fit(const State* state, int instance) const;  // nullptr: all calls in the code
  bool GoesWrong(int rank, int at) const;
  bool Matches(const Op& receive, int receiver, const Op& send, int sender) const;
  bool IsFree(const State& state, int line) const {
    return !state.free.empty() && state.free[static_cast<size_t>(program_.RankOf(line))];
  }
  bool FromFree(const State& state, int rank, int at) const;
  bool ThreadsCompete(int receiver, int receive, int sender, int send) const;
  bool ThreadsEnded(const State& state, int rank) const;
  // Returns the operation of the main thread that starts this thread, if there is one.
  int SpawnOf(int line) const;
  void AddMatches(const State& state, std::vector<Step>* steps) const;

  void PairPartitioned();
  // Returns the start that matches this start of a partitioned request, if it is ever made.
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
