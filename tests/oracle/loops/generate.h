// SPDX-License-Identifier: Apache-2.0
// Generates larger programs without wildcards (program.h), correct ones and with a planted fault,
// whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_GENERATE_H_

#include <string_view>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/loops/program.h"

namespace rollcall::oracle::loops {

// FAULT(identifier, text, named, others): as ROLLCALL_ORACLE_FAULTS. The two numbers are what the
// engine reaches, less a margin for a sample of a hundred traces, and not what users need: raise
// them with each improvement.
#define ROLLCALL_ORACLE_LOOP_FAULTS(FAULT)                         \
  FAULT(None, "none", 0, 0)                                        \
  FAULT(LeavesEarly, "a rank leaves a loop early", 93, 5)          \
  FAULT(SeveralLeave, "several ranks leave a loop early", 89, 6)   \
  FAULT(MostLeave, "most ranks leave a loop by a break", 51, 38)   \
  FAULT(SkipsRound, "a rank skips the rest of a round", 92, 5)     \
  FAULT(EmptyRank, "an empty rank returns early", 92, 6)           \
  FAULT(Finalizes, "a rank finalizes in a loop", 93, 4)            \
  FAULT(ErrorPath, "a rank takes a collective error path", 91, 6)  \
  FAULT(MoreRounds, "a minority makes rounds too many", 92, 5)     \
  FAULT(SomeRaise, "a minority raises, and goes on", 89, 4)        \
  FAULT(MostRaise, "a majority raises, and goes on", 46, 40)       \
  FAULT(GroupRaises, "a group raises, spare ranks wait", 65, 35)   \
  FAULT(Chunk, "a further chunk of collectives", 97, 1)            \
  FAULT(Destructor, "a destructor's barrier meets another", 89, 1) \
  FAULT(TagEverywhere, "a wrong tag on every rank", 97, 1)         \
  FAULT(Tag, "a wrong tag on one rank", 94, 3)                     \
  FAULT(Peer, "a wrong peer on one rank", 87, 3)                   \
  FAULT(Table, "an odd entry in a table of counts", 97, 1)         \
  FAULT(Neighborhood, "a neighborhood that does not agree", 97, 1) \
  FAULT(Server, "a server stays outside MPI", 97, 1)               \
  FAULT(Stalled, "a rank stays outside MPI", 97, 1)

ROLLCALL_DEFINE_FAULTS(ROLLCALL_ORACLE_LOOP_FAULTS);

struct Planted {
  FaultKind kind = FaultKind::kNone;
  std::vector<int> ranks;  // the culprits; here and below, in ascending order
  // The other ends of a message, table or edge that does not agree.
  std::vector<int> partners;
  // Nothing tells the culprits from the partners, or from the other side, which has as many ranks.
  bool tie = false;
  std::vector<int> other_side;  // of such a tie
};

struct Generated {
  Program program;
  Planted planted;
};

// A faulty program hangs if no send is buffered.
Generated Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_GENERATE_H_
