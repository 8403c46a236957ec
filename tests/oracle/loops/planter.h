// SPDX-License-Identifier: Apache-2.0
// Decides which ranks deviate, where and when, and inserts the code that makes them deviate while
// the writer writes a program.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_PLANTER_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_PLANTER_H_

#include <vector>

#include "tests/oracle/loops/generate.h"

namespace rollcall::oracle::loops {

class Planter {
 public:
  Planter(Random* random, FaultKind kind) : random_(*random) { planted_.kind = kind; }

  // Chooses the culprits among these ranks of the world, at least four; for some kinds all of them,
  // or the first (a server). They deviate from the others among `all`.
  void Choose(const std::vector<int>& ranks, const std::vector<int>& all);

  // Each inserts code, if the kind of the fault has some for this place of the phase with the
  // fault, whose loop has `rounds` rounds.
  void LoopHead(int rounds, Block* body);             // where a round begins; or else
  void LoopMiddle(int rounds, Block* body);           // between its messages and its collective
  void AfterLoop(int rounds, Node* loop, int ranks);  // changes the number of rounds of some
  void ServerHead(int rounds, Block* body);           // where a round of a server begins
  void HelperHead(int rounds, Block* body);           // where a function that loops call begins
  void GuardedHead(Block* body);                      // while a guard exists
  // Changes a message, table or edge in a block that exchanges data; false if it has none to
  // change.
  bool Exchange(const Comm& comm, int rounds, Block* block);
  bool Graph(Comm* comm);
  // All counts of a table are equal, so that an odd one is seen.
  bool regular_table() const { return regular_table_; }

  bool Is(FaultKind kind) const { return planted_.kind == kind; }
  bool Raises() const;
  const Planted& planted() const { return planted_; }

 private:
  void EndsHere(int rounds, bool barrier, Block* body);
  Condition Deviates(int rounds, bool for_ever);
  static Node If(Condition condition, Node::Kind then);
  bool ChangeMessage(const Comm& comm, const Condition& when, Node* node);
  bool ChangeTable(const Comm& comm, const Condition& when, Node* node);

  Random& random_;
  Planted planted_;
  bool regular_table_ = false;
  bool at_head_ = true;     // it deviates at the head of the round; otherwise in its middle
  bool by_number_ = false;  // the loop has fewer rounds, and no `break`
};

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_PLANTER_H_
