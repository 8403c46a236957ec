// SPDX-License-Identifier: Apache-2.0
// Generates random programs: correct ones, built from one global order of steps that every rank
// follows, and the same programs with a planted fault, whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_GENERATE_H_

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tests/oracle/judgement.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

// FAULT(identifier, text, named, others): of the traces that the fault makes stuck, at least
// `named` percent must end in a verdict that names exactly the planted ranks or reports a tie, and
// at most `others` percent in one that names only other ranks.
#define ROLLCALL_ORACLE_FAULTS(FAULT)                                \
  FAULT(None, "none", 0, 0)                                          \
  FAULT(Skipped, "collective skipped under a rank condition", 94, 1) \
  FAULT(Extra, "extra collective under a rank condition", 92, 1)     \
  FAULT(OtherOperation, "another operation", 99, 1)                  \
  FAULT(Root, "another root", 98, 1)                                 \
  FAULT(Reduction, "another reduction", 98, 1)                       \
  FAULT(Type, "another datatype", 96, 1)                             \
  FAULT(Count, "another count", 98, 1)                               \
  FAULT(Inversion, "two communicators in opposite order", 98, 1)     \
  FAULT(Ring, "ring of receives or synchronous sends", 97, 1)        \
  FAULT(LuckyRing, "ring of standard sends", 94, 1)                  \
  FAULT(Tag, "wrong tag", 88, 1)                                     \
  FAULT(Exchange, "wrong tag or partner of a Sendrecv", 60, 1)       \
  FAULT(Probe, "probe for another tag", 86, 1)                       \
  FAULT(NotStarted, "persistent request not started", 32, 1)         \
  FAULT(NotReady, "partition not marked ready", 50, 1)               \
  FAULT(PairCount, "another count in a v-collective", 76, 2)         \
  FAULT(Peer, "wrong peer", 50, 1)                                   \
  FAULT(Died, "rank died", 99, 1)                                    \
  FAULT(Exited, "rank exited", 98, 1)                                \
  FAULT(LeftEarly, "finalized early", 50, 1)                         \
  FAULT(Stalled, "rank stalled", 95, 1)                              \
  FAULT(Uneven, "uneven iterations", 68, 2)                          \
  FAULT(Frozen, "network dead", 97, 1)                               \
  FAULT(Invalid, "argument that MPI rejects", 84, 1)                 \
  FAULT(Race, "race of wildcard receives", 0, 80)                    \
  FAULT(Two, "two faults", 20, 4)

ROLLCALL_DEFINE_FAULTS(ROLLCALL_ORACLE_FAULTS);

struct Planted {
  FaultKind kind = FaultKind::kNone;
  std::vector<int> ranks;  // the culprits, in ascending order
  // There are as many culprits as other ranks, so no side can be singled out.
  bool tie = false;
};

struct Generated {
  Program program;
  Planted planted;
};

using Random = std::mt19937_64;

// Returns a number from 0 to `bound` - 1. std::uniform_int_distribution is not used because its
// results depend on the standard library.
inline int Below(Random* random, int bound) {
  return static_cast<int>((*random)() % static_cast<uint64_t>(bound));
}
inline bool Chance(Random* random, int percent) { return Below(random, 100) < percent; }

Generated Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_GENERATE_H_
