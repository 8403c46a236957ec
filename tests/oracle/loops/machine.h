// SPDX-License-Identifier: Apache-2.0
// Executes a program (program.h) by the rules of MPI 4.0 that tests/oracle/machine.h cites, without
// wildcards: 3.4 (standard sends), 3.5 (the n-th send to a peer with a tag matches its n-th
// receive), 3.7 and 3.9 (requests), 6.1 (what a collective waits for), 8.6 (neighborhoods), 11.2.2
// (Finalize). A step that is possible stays possible whatever other ranks do, so the schedule does
// not decide who is stuck.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_MACHINE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_MACHINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "tests/oracle/loops/unroll.h"

namespace rollcall::oracle::loops {

// How the library decides where the standard permits several behaviours.
struct Library {
  bool buffers = false;  // standard sends return before they are received
  bool early = false;    // a collective returns as soon as the caller's part is done
  bool lenient = false;  // calls that do not match are completed; otherwise they hang
  bool resumes = false;  // ranks that stay outside MPI continue
};
inline constexpr Library kSynchronous = {};
inline constexpr Library kPermissive = {
    .buffers = true, .early = true, .lenient = true, .resumes = true};

struct Request {
  int channel = kNone;  // kNone: of no rank, and always complete
  int number = 0;       // of the message on the channel, from 1; 0: not started
  bool sends = false;
};

struct RankState {
  int at = 0;           // index in Code::order of the next call, or of the current one
  bool inside = false;  // in that call
  bool left = false;    // in MPI_Finalize
  // Of the current call: the numbers of its messages, or of the collective.
  int sent = 0;
  int received = 0;
  int number = 0;
  std::vector<Request> requests;    // ordinary ones
  std::vector<Request> persistent;  // from kFirstPersistent on
};

struct State {
  std::vector<RankState> ranks;
  std::vector<int> sent;  // by channel: messages and receives posted
  std::vector<int> received;
  // By communicator and local rank: the collectives that it entered, as indices of Code::made.
  std::vector<std::vector<std::vector<int>>> entered;
};

// In which order ranks move: each in turn makes up to so many calls.
struct Pace {
  std::vector<int> order;
  std::vector<int> calls;  // by rank
};

class Machine {
 public:
  explicit Machine(const Program& program);

  State Start() const;
  // Lets ranks move until none can, or until `limit` calls were entered; returns the number of
  // calls that were entered. Calls `returned(rank, made)` (index of Code::made) when a call
  // returns.
  using Returned = std::function<void(int rank, int made)>;
  int64_t Run(Library library, const Pace& pace, int64_t limit, State* state,
              const Returned& returned = nullptr) const;
  // Ranks in ascending order, one call each.
  Pace Plain() const;

  const Program& program() const { return program_; }
  const Code& CodeOf(int rank) const { return code_[static_cast<size_t>(rank)]; }
  // The next call of a rank, or the current one.
  const Made& At(const State& state, int rank) const;

  // The rank is inside a call that is not MPI_Finalize.
  bool Waits(const State& state, int rank) const;
  bool Stalls(const State& state, int rank) const;  // it stays outside MPI
  bool AllLeft(const State& state) const;
  // Whether the calls that the members entered under a number of a communicator match: the same
  // operation and arguments, and tables that agree in pairs. From 1.
  bool Fits(const State& state, int comm, int number) const;
  // The highest number that a member entered.
  static int LastNumber(const State& state, int comm);

 private:
  struct Action {  // the channels of a call
    int sends = kNone;
    int receives = kNone;
  };
  int Channel(int comm, int from, int to, int tag);
  void Enter(int rank, State* state) const;
  bool Complete(const State& state, Library library, int rank) const;
  bool CollectiveComplete(const State& state, Library library, int rank, const Call& call) const;
  const Call* Entered(const State& state, int comm, int local_rank, int number) const;
  static Request* Find(int request, RankState* rank);

  const Program& program_;
  std::vector<Code> code_;
  std::vector<std::vector<Action>> actions_;      // by rank and Code::made
  std::map<std::array<int, 4>, int> channel_of_;  // by communicator, sender, receiver and tag
};

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_MACHINE_H_
