// SPDX-License-Identifier: Apache-2.0
// Compares the verdict of the diagnosis engine on one run of a program with the oracle.
#ifndef ROLLCALL_TESTS_ORACLE_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_JUDGE_H_

#include <string>

#include "tests/oracle/explore.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/judgement.h"
#include "tests/oracle/observe.h"

namespace rollcall::oracle {

// Compares the diagnosis of the observed run of `generated` with the oracle:
//  - A proven hang cannot be resolved by any library in any order of steps, even if stalled ranks
//    continue: the program never completes, and some rank that the finding calls waiting never
//    moves (in a cycle of messages, no rank of it); or two calls with one sequence number violate
//    the matching rules. Only the latter is proven under MPI_THREAD_MULTIPLE.
//  - No hang is found if all ranks complete in every order with synchronous sends.
//  - Arguments or operations that are called mismatched do not match.
//  - Only a stalled rank is called stalled, only a dead network a stalled transport, and only
//    a dead rank dead.
//  - Something is found if calls that were made do not match and no rank moves any more.
//  - Nothing is found in a correct program, neither in its middle nor at its end.
//  - A hang is not suspected while a rank that it depends on may continue: one that has polled
//    tightly for less than 10 s (likely: 30 s) or has a thread that never called MPI; one that has
//    polled with work in between for less than 30 s (likely: for any time), or has a thread that
//    has called MPI and is outside of it.
//  - The kind is no more certain than the hang, no conclusion is proven, and a proven kind is what
//    happened.
//  - A program that is reported to need buffering does not complete in any order without it.
Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen);

// Returns a smaller program with a violation, and its trace, as readable text.
std::string Shrink(const Generated& generated);

// The family of MPI programs for case.h.
struct Mpi {
  using Generated = oracle::Generated;
  using Machine = oracle::Machine;
  using Observation = oracle::Observation;
  using FaultKind = oracle::FaultKind;
  static constexpr std::span<const FaultInfo> kFaults = oracle::kFaults;
  static constexpr bool kNeverInconclusive = true;
  static constexpr bool kHasSources = false;
  static std::string Smaller(const Generated& generated) { return Shrink(generated); }
};

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_JUDGE_H_
