// What NCCL and CUDA do with a program (program.h), step by step: the rules, and nothing else.
// Shares no code with the diagnosis engine, on purpose.
//
// The rules, by the user guides of CUDA and NCCL:
//  - A call enqueues its operation on a stream and returns. A stream runs its operations one after
//    another. cudaStreamSynchronize and cudaDeviceSynchronize return when what was enqueued before
//    on the stream, or on any, is complete.
//  - What is called between ncclGroupStart and ncclGroupEnd is enqueued by the outermost end, as
//    one: its operations need not wait for each other.
//  - The n-th collective of each member on a communicator is one operation, and must be the same
//    call with the same count, type, root and reduction. The n-th send from one member to another
//    meets the n-th receive there, of the same size.
//  - An operation needs those whose data it gets to have come to it on their devices. It may
//    synchronise all members, or both ends of a message, or return as early as its own part is
//    done.
//  - The end of a process ends what it enqueued.
//
// No step but a death takes anything away from another rank, so that the order of steps decides
// nothing: what comes of a state is found by taking steps until there are none (device_test.cc
// tries other orders). Deaths that are still to come are taken to come early, and nobody completes
// then.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_

#include <utility>
#include <vector>

#include "tests/oracle/device/program.h"

namespace rollcall::oracle::device {

enum class Library {
  kSynchronous,  // every operation synchronises its members
  kPermissive,   // every operation is complete as soon as it may be
  kAsDecided,    // operation by operation: Cell::early
};

struct Cell {          // of one operation on a device
  bool early = false;  // kAsDecided
  int launch = 0;      // when it was enqueued, counted by rank from 1; 0: not yet
  bool done = false;
};

enum class Status { kGoing, kLeft, kDead, kStalled };

struct RankState {
  Status status = Status::kGoing;
  int at = 0;  // index of the host's next call, or of the one it is inside of
  bool inside = false;
  int depth = 0;     // of groups
  int launches = 0;  // so far
};

struct State {
  std::vector<RankState> ranks;
  std::vector<std::vector<Cell>> cells;  // by rank and index
  bool wrong_calls_pass = false;         // kAsDecided: operations that do not fit complete
  bool devices_resume = false;           // a device that stands still goes on
};

struct Step {
  enum class What { kEnter, kReturn, kResume, kComplete } what = What::kEnter;
  int rank = 0;
  int at = 0;
};

// What has to meet: a collective of all members, or one message.
struct Meeting {
  int comm = 0;
  int number = 0;                          // of a collective, from 1; 0: a message
  std::vector<std::pair<int, int>> calls;  // (rank, index)
  std::vector<int> members;                // who is to make one
};

struct Outcome {
  bool complete = false;   // every rank ended, with everything done
  std::vector<bool> ends;  // by rank
};

class Machine {
 public:
  explicit Machine(const Program& program);

  State Start() const;
  std::vector<Step> Steps(const State& state, Library library, bool resume) const;
  void Take(const Step& step, State* state) const;
  // What becomes of it in the end. `resume`: hosts and devices that stand still may go on.
  Outcome Run(State state, Library library, bool resume) const;

  const Op& At(int rank, int at) const {
    return program_.code[static_cast<size_t>(rank)][static_cast<size_t>(at)];
  }
  const std::vector<Meeting>& meetings() const { return meetings_; }
  bool Entered(const State& state, int rank, int at) const;
  // Do the calls that were made so far fit together?
  bool Fits(const State& state, const Meeting& meeting) const { return Fit(&state, meeting); }
  Outcome OutcomeOf(const State& state) const;

 private:
  void Enter(int rank, State* state) const;
  bool MayReturn(const State& state, int rank) const;
  bool MayComplete(const State& state, Library library, int rank, int at) const;
  bool IsAtHead(const State& state, int rank, int at) const;
  bool HasCome(const State& state, Library library, int rank, int at) const;
  bool Needs(int rank, const Op& op, int other) const;
  bool Fit(const State* state, const Meeting& meeting) const;  // nullptr: of all ever made

  const Program& program_;
  std::vector<Meeting> meetings_;
  std::vector<bool> fits_;                    // by meeting: all calls that are ever made
  std::vector<std::vector<int>> meeting_of_;  // by rank and index; kNone: not on a device
};

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_MACHINE_H_
