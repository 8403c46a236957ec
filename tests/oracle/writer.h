// SPDX-License-Identifier: Apache-2.0
// Writes correct MPI programs: a list of steps that every rank takes in the same order. No step
// waits for a later one, so no program can deadlock, with or without buffering.
#ifndef ROLLCALL_TESTS_ORACLE_WRITER_H_
#define ROLLCALL_TESTS_ORACLE_WRITER_H_

#include <utility>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

// The kind of persistent request that a program must have and start.
enum class Wants : char { kNoHandle, kAnyHandle, kPartitions };

class Writer {
 public:
  // `loops_race`: wildcard receives may occur in a loop, where one may match the next message of a
  // fast sender instead of that of a slow one. With a few libraries this deadlocks.
  Writer(Random* random, bool loops_race);

  void Communicators(bool at_least_one);
  // Sometimes adds threads under MPI_THREAD_MULTIPLE: one that answers requests, or one on each
  // rank that makes collective calls, on a separate communicator.
  void Threads();
  void Handles(Wants wants);
  void Steps(int count);
  // Writes a loop, which repeats the operations of some steps with the same lines.
  void Loop(int rounds, int steps);
  Program Finish();

  // Single steps; each uses the lines from NextLine() on.
  void NextLine();
  void PairwiseCollective(bool nonblocking);
  // MPI_Sendrecv along a chain or a ring, or between two ranks.
  void Exchange();
  // A message that is probed before it is received.
  void Probed();
  // Starts handles at all their ends; their previous operations are complete then.
  void Start(Wants wants);
  // The root receives one message of each other member with wildcards. With `race` it also uses any
  // tag, and receives from specific senders whose messages another receive may have matched.
  void FanIn(bool race);
  // Every rank receives before it sends, or sends synchronously before it receives. If `lucky`, it
  // uses a standard send before it receives.
  void UnsafeRing(bool lucky);
  // Two consecutive blocking collectives on two communicators. Returns their lines.
  std::pair<int, int> PairOfCollectives(int a, int b);

  int ring_comm() const { return ring_comm_; }  // the communicator of UnsafeRing()
  int comms() const { return comms_; }          // without the intercommunicator and the topology

 private:
  // The call of each rank for one operation.
  using Ends = std::vector<std::pair<int, Op>>;

  void Intercommunicator();
  void Grid();
  std::vector<int> SomeRanks();
  void Step();

  Op RandomCollective(int comm);
  // One end of a message whose tag is its line.
  Op Addressed(Do what, int comm, int peer) const;
  void Collective(bool nonblocking);
  void BetweenGroups();
  Ends NeighborhoodCall();
  void Neighborhood(bool nonblocking);
  void PutInPlace(int comm, Ends* ends);

  void Message();
  void Serve();
  void MessageBetweenGroups();
  void SafeRing();
  void Sendrecv(int comm, int me, int to, int from);  // kNone: MPI_PROC_NULL

  Ends CollectiveHandle();
  Ends MessageHandle();
  Ends PartitionedHandle();
  void MarkPartitions(const Ends& ends);

  const std::vector<int>& Members(int comm) const {
    return program_.comms[static_cast<size_t>(comm)];
  }
  int Size(int comm) const { return static_cast<int>(Members(comm).size()); }
  int Member(int comm, int i) const { return Members(comm)[static_cast<size_t>(i)]; }
  int RandomComm() { return Below(&random_, comms()); }
  std::pair<int, int> RandomPair(int comm);
  // Adds an operation to a line of code.
  void Add(int rank, Op op, int line);
  void AddAll(const Ends& ends, bool nonblocking);
  int NewRequest(int rank);
  void FlushAll(int percent);
  void Flush(int rank, int percent);

  Random& random_;
  const bool loops_race_;
  bool in_loop_ = false;
  Program program_;
  std::vector<std::vector<int>> pending_;  // requests to wait for, by rank
  int line_ = 0;
  int outer_line_ = 0;
  int requests_ = 0;
  int messages_ = 0;
  int handle_ = 0;
  int comms_ = 0;
  int inter_ = kNone;
  int grid_ = kNone;
  int served_ = kNone;         // the communicator of the threads
  std::vector<Ends> handles_;  // by persistent request: the start of each rank
  int ring_comm_ = kNone;
};

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_WRITER_H_
