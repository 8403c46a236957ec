// SPDX-License-Identifier: Apache-2.0
// Compares the verdict of the diagnosis engine on one run of a program with what was planted in it.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_JUDGE_H_

#include <span>
#include <string>

#include "tests/oracle/judgement.h"
#include "tests/oracle/loops/generate.h"
#include "tests/oracle/loops/machine.h"
#include "tests/oracle/loops/observe.h"

namespace rollcall::oracle::loops {

// The rules:
//  - Nothing is found in a correct program, neither in its middle nor at its end.
//  - A proven hang cannot be resolved by any library, even if ranks that stay outside MPI continue:
//    some rank that the finding calls waiting never moves (in a cycle of messages, no culprit); or
//    calls under its number or a later one do not match.
//  - Nor is any other hang reported, also while the job runs, of ranks that can move in any library
//    without those that stay outside MPI.
//  - Calls that are reported as mismatched do not match; if calls do not match and no rank moves
//    any more, there is a finding.
//  - Only ranks that stay outside MPI are called stalled, nobody is called dead, and the network is
//    well.
//  - A finding whose kind is proven names no rank but culprits and their partners.
Judgement Judge(const Generated& generated, const Machine& machine, const Observation& seen);

// The family of these programs for case.h.
struct Loops {
  using Generated = loops::Generated;
  using Machine = loops::Machine;
  using Observation = loops::Observation;
  using FaultKind = loops::FaultKind;
  static constexpr std::span<const FaultInfo> kFaults = loops::kFaults;
  static constexpr bool kNeverInconclusive = false;
  static constexpr bool kHasSources = true;
  static std::string Smaller(const Generated&) { return ""; }
};

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_JUDGE_H_
