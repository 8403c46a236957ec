// SPDX-License-Identifier: Apache-2.0
// Generates larger programs without wildcards (program.h), correct ones and with a planted fault,
// whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_GENERATE_H_

#include <iterator>
#include <string_view>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/loops/program.h"

namespace rollcall::oracle::loops {

// Whether a finding whose kind is proven may name a rank that is no culprit. kCounted: the traces
// are counted, and the row is to become kFatal.
enum class Innocents { kFatal, kCounted };

// FAULT(identifier, text, named, others, innocents): named and others as ROLLCALL_ORACLE_FAULTS.
// They are what the engine reaches, less a margin for a sample of a hundred traces, and not what
// users need: raise them with each improvement, and make a row kFatal that no longer accuses.
#define ROLLCALL_ORACLE_LOOP_FAULTS(FAULT)                                 \
  FAULT(None, "none", 0, 0, kFatal)                                        \
  FAULT(LeavesEarly, "a rank leaves a loop early", 93, 5, kCounted)        \
  FAULT(SeveralLeave, "several ranks leave a loop early", 89, 6, kCounted) \
  FAULT(MostLeave, "most ranks leave a loop by a break", 51, 38, kCounted) \
  FAULT(SkipsRound, "a rank skips the rest of a round", 92, 5, kFatal)     \
  FAULT(EmptyRank, "an empty rank returns early", 92, 6, kFatal)           \
  FAULT(Finalizes, "a rank finalizes in a loop", 93, 4, kFatal)            \
  FAULT(ErrorPath, "a rank takes a collective error path", 91, 6, kFatal)  \
  FAULT(MoreRounds, "a minority makes rounds too many", 94, 5, kFatal)     \
  FAULT(SomeRaise, "a minority raises, and goes on", 89, 4, kFatal)        \
  FAULT(MostRaise, "a majority raises, and goes on", 46, 40, kCounted)     \
  FAULT(GroupRaises, "a group raises, spare ranks wait", 65, 35, kFatal)   \
  FAULT(Chunk, "a further chunk of collectives", 97, 1, kFatal)            \
  FAULT(Destructor, "a destructor's barrier meets another", 89, 1, kFatal) \
  FAULT(TagEverywhere, "a wrong tag on every rank", 97, 1, kFatal)         \
  FAULT(Tag, "a wrong tag on one rank", 94, 3, kFatal)                     \
  FAULT(Peer, "a wrong peer on one rank", 87, 3, kCounted)                 \
  FAULT(Table, "an odd entry in a table of counts", 97, 1, kFatal)         \
  FAULT(Neighborhood, "a neighborhood that does not agree", 97, 1, kFatal) \
  FAULT(Server, "a server stays outside MPI", 97, 1, kFatal)               \
  FAULT(Stalled, "a rank stays outside MPI", 97, 1, kFatal)

enum class FaultKind {
#define FAULT(identifier, text, named, others, innocents) k##identifier,
  ROLLCALL_ORACLE_LOOP_FAULTS(FAULT)
#undef FAULT
};

constexpr FaultInfo kFaults[] = {
#define FAULT(identifier, text, named, others, innocents) {text, named, others},
    ROLLCALL_ORACLE_LOOP_FAULTS(FAULT)
#undef FAULT
};
constexpr Innocents kInnocents[] = {
#define FAULT(identifier, text, named, others, innocents) Innocents::innocents,
    ROLLCALL_ORACLE_LOOP_FAULTS(FAULT)
#undef FAULT
};
inline constexpr int kFaultKinds = static_cast<int>(std::size(kFaults));

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
