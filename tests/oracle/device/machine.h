// SPDX-License-Identifier: Apache-2.0
// Simulates the execution of a program (program.h) by NCCL and CUDA step by step, with only their
// rules. It deliberately shares no code with the diagnosis engine.
//
// The rules of the user guides of CUDA and NCCL:
//  - A call enqueues its operation on a stream and returns. A stream runs its operations one after
//    another. cudaStreamSynchronize and cudaDeviceSynchronize return when all operations that were
//    enqueued before on the stream, or on any stream, are complete.
//  - The outermost ncclGroupEnd enqueues the operations of a group as a whole: they need not
//    wait for each other.
//  - The n-th collective of each member on a communicator is one operation, and must be the same
//    call with the same count, type, root and reduction. The n-th send from one member to another
//    matches the n-th receive there, which must have the same size.
//  - An operation waits until the devices of the members that send it data have reached it. It may
//    synchronise all members, or both ends of a message, or return as soon as its own part is done.
//  - The end of a process ends the operations that it enqueued.
//
// No step except a death makes a step of another rank impossible, so the order of steps does not
// change the result: taking steps until none is possible gives the outcome of a state
// (device_test.cc tests other orders). Deaths that are still to come are assumed to come early; no
// rank completes then.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_

#include <utility>
#include <vector>

#include "tests/oracle/device/program.h"

namespace rollcall::oracle::device {

enum class Library {
  kSynchronous,  // every operation synchronises its members
  kPermissive,   // every operation is complete as soon as it may be
  kAsDecided,    // for each operation by Cell::early
};

struct Cell {          // the state of one operation on a device
  bool early = false;  // kAsDecided
  int launch = 0;      // number of its launch, by rank from 1; 0: not enqueued yet
  bool done = false;
};

enum class Status { kGoing, kLeft, kDead, kStalled };

struct RankState {
  Status status = Status::kGoing;
  int at = 0;  // index of the host's next call, or of its current one
  bool inside = false;
  int depth = 0;     // of groups
  int launches = 0;  // so far
};

struct State {
  std::vector<RankState> ranks;
  std::vector<std::vector<Cell>> cells;  // by rank and index
  bool wrong_calls_pass = false;         // kAsDecided: mismatched operations complete
  bool devices_resume = false;           // a stalled device continues
};

struct Step {
  enum class What { kEnter, kReturn, kResume, kComplete } what = What::kEnter;
  int rank = 0;
  int at = 0;
};

// Operations that must match: a collective of all members, or one message.
struct Meeting {
  int comm = 0;
  int number = 0;                          // for a collective, from 1; 0: a message
  std::vector<std::pair<int, int>> calls;  // (rank, index)
  std::vector<int> members;                // the members that must make a call
};

struct Outcome {
  bool complete = false;   // every rank ended, and all operations are complete
  std::vector<bool> ends;  // by rank
};

class Machine {
 public:
  explicit Machine(const Program& program);

  State Start() const;
  std::vector<Step> Steps(const State& state, Library library, bool resume) const;
  void Take(const Step& step, State* state) const;
  // Returns the final outcome of a state. `resume`: stalled hosts and devices may continue.
  Outcome Run(State state, Library library, bool resume) const;

  const Op& At(int rank, int at) const {
    return program_.code[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  const std::vector<Meeting>& meetings() const { return meetings_; }
  bool Entered(const State& state, int rank, int at) const;
  // Returns whether the calls that were made so far match.
  bool Fits(const State& state, const Meeting& meeting) const { return Fit(&state, meeting); }
  Outcome OutcomeOf(const State& state) const;

 private:
  void Enter(int rank, State* state) const;
  bool MayReturn(const State& state, int rank) const;
  bool MayComplete(const State& state, Library library, int rank, int at) const;
  bool IsAtHead(const State& state, int rank, int at) const;
  bool HasCome(const State& state, Library library, int rank, int at) const;
  bool Needs(int rank, const Op& op, int other) const;
  bool Fit(const State* state, const Meeting& meeting) const;  // nullptr: all in the code

  const Program& program_;
  std::vector<Meeting> meetings_;
  std::vector<bool> fits_;                    // by meeting: all calls in the code match
  std::vector<std::vector<int>> meeting_of_;  // by rank and index; kNone: not on a device
};

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_
