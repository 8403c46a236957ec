// SPDX-License-Identifier: Apache-2.0
// Writes programs as users write them: a setup, one to three phases with loops, halos and
// collectives in helper functions, and calls of all ranks between them.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_WRITER_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_WRITER_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/loops/exchange.h"
#include "tests/oracle/loops/planter.h"

namespace rollcall::oracle::loops {

class Writer {
 public:
  Writer(Random* random, Planter* planter) : random_(*random), planter_(*planter) {}

  // Returns a program with the planter's fault, or nothing if it has no place for it.
  std::optional<Program> Write();

 private:
  enum class Phase { kLoop, kServer, kChunks, kGuarded };

  void Groups();
  void Phases();
  bool Helpers();
  int Add(std::string name, Block body);
  // `caught`: the caller catches exceptions of all its ranks.
  int WritePhase(size_t phase, bool caught);
  int LoopPhase(size_t phase, bool caught);
  Node Sometimes();
  int ServerPhase(size_t phase);
  int ChunkPhase(size_t phase);
  int GuardedPhase(size_t phase);
  // Appends a loop around `body`, with the fault's number of rounds.
  void AddLoop(size_t phase, Block body, Block* to);
  // Invokes a phase: where spare ranks wait for the others, and what is thrown is caught.
  void InvokePhase(size_t phase, Block* to);

  // Appends what all ranks of the phases do in one round: leave the loop, or the round.
  void LeaveTogether(size_t phase, bool caught, Block* body);

  bool IsTarget(size_t phase) const { return phase == target_; }
  int Rounds(size_t phase) const { return rounds_[phase]; }
  // A collective of all members, of a random operation.
  Node Collective(int comm);
  Node Collective(int comm, std::string operation, std::string arguments, Call::Needs needs);
  Node Local(std::string text) const;
  static Node Invoke(int function);
  static Node Try(Block body);
  // `operation` makes it, from the world.
  int NewComm(std::vector<int> members, std::string operation);
  const std::vector<int>& Members(int comm) const {
    return program_.comms[static_cast<size_t>(comm)].members;
  }

  Random& random_;
  Planter& planter_;
  Program program_;
  bool long_ = false;  // hundreds of rounds
  int base_ = 0;       // communicator of the ranks that take part in the phases
  int active_ = 0;     // that of the ranks that exchange data
  Grid grid_;          // of these
  size_t target_ = 0;  // the phase with the fault
  std::vector<Phase> phases_;
  std::vector<int> rounds_;  // by phase
  int exchange_ = kNone;     // a function
  int smooth_ = kNone;       // a function that exchanges and reduces
  Block exchange_code_;
  Block creations_;  // of communicators
  Block setup_;      // of persistent requests
};

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_WRITER_H_
