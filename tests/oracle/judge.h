// The diagnosis engine against the oracle: one program, one run of it, one verdict.
#ifndef ROLLCALL_TESTS_ORACLE_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_JUDGE_H_

#include <string>

#include "tests/oracle/explore.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/judgement.h"
#include "tests/oracle/observe.h"

namespace rollcall::oracle {

// Runs `generated` once and compares:
//  - a hang that is called proven cannot be resolved by any library, in any order of steps, even if
//    ranks that stall go on: the program never completes, and somebody whom the finding calls
//    waiting never moves (of a ring of messages, nobody in it); or two calls under one number break
//    the matching rules; and nothing but that is proven under MPI_THREAD_MULTIPLE;
//  - no hang is found where everything comes to its end in every way, sends synchronous;
//  - arguments or operations that are called mismatched do not fit;
//  - only a rank that stalls is called stalled, only a dead network a transport that stalls, only
//    the dead died;
//  - something is found where calls that were made do not fit, and nobody moves any more;
//  - nothing at all is found in a correct program, in the middle of its way and at its end;
//  - a hang is not suspected while somebody may go on without whom there is none: who polls tightly
//    for less than 10 s (likely: 30 s), or has a thread that never called MPI; who polls with work
//    in between for less than 30 s (likely: ever), or has a thread that has called MPI and is
//    outside;
//  - why is no more certain than that, no conclusion is proven, and the kind that is proven is what
//    happened;
//  - asked for programs that need buffers, it names none that completes in some way without.
Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen);

// A smaller program with a violation, and its trace; for a person to look at.
std::string Shrink(const Generated& generated);

// MPI programs, as case.h takes them.
struct Mpi {
  using Generated = oracle::Generated;
  using Machine = oracle::Machine;
  using Observation = oracle::Observation;
  using FaultKind = oracle::FaultKind;
  static constexpr std::span<const FaultInfo> kFaults = oracle::kFaults;
  static constexpr bool kNeverInconclusive = true;
  static std::string Smaller(const Generated& generated) { return Shrink(generated); }
};

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_JUDGE_H_
