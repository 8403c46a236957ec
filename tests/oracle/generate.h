// Random programs: correct ones, built along one global order of steps that every rank follows, and
// the same with a fault planted whose culprits are therefore known.
#ifndef ROLLCALL_TESTS_ORACLE_GENERATE_H_
#define ROLLCALL_TESTS_ORACLE_GENERATE_H_

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tests/oracle/judgement.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

// FAULT(identifier, text, named, others): of the traces that it makes stuck, `named` percent at
// least must end in a verdict that names the planted ranks and no others, or that it is one against
// one; and `others` percent at most in one that names innocents only.
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
  FAULT(Race, "race of wildcard receives", 0, 65)                    \
  FAULT(Two, "two faults", 20, 4)

enum class FaultKind {
#define FAULT(identifier, text, named, others) k##identifier,
  ROLLCALL_ORACLE_FAULTS(FAULT)
#undef FAULT
};

constexpr FaultInfo kFaults[] = {
#define FAULT(identifier, text, named, others) {text, named, others},
    ROLLCALL_ORACLE_FAULTS(FAULT)
#undef FAULT
};
inline constexpr int kFaultKinds = static_cast<int>(std::size(kFaults));

struct Planted {
  FaultKind kind = FaultKind::kNone;
  std::vector<int> ranks;  // who does it; rising
  // As many do it as do not: nobody can say which side is wrong.
  bool tie = false;
};

struct Generated {
  Program program;
  Planted planted;
};

using Random = std::mt19937_64;

// 0 <= result < bound. Not std::uniform_int_distribution: one seed means one program everywhere.
inline int Below(Random* random, int bound) {
  return static_cast<int>((*random)() % static_cast<uint64_t>(bound));
}
inline bool Chance(Random* random, int percent) { return Below(random, 100) < percent; }

Generated Generate(FaultKind kind, Random* random);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_GENERATE_H_
