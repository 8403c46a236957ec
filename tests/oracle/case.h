// SPDX-License-Identifier: Apache-2.0
// Generates one trace of a run from its number, compares it with the engine and prints it; and does
// so for many traces.
//
// `Family` describes a kind of programs (Mpi in judge.h, device::Devices in device/judge.h,
// loops::Loops in loops/judge.h): its types, its kinds of faults, and how a failing program is
// reduced. The functions for it (Generate, Observe, Judge, Text) are selected by overload
// resolution.
#ifndef ROLLCALL_TESTS_ORACLE_CASE_H_
#define ROLLCALL_TESTS_ORACLE_CASE_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/model/rank_set.h"
#include "tests/oracle/generate.h"
#include "tests/oracle/judgement.h"

namespace rollcall::oracle {

template <typename Family>
struct Case {
  typename Family::Generated generated;
  uint64_t seed = 0;
};

template <typename Family>
constexpr uint64_t KindsOf() {
  return Family::kFaults.size();
}

// Generates trace `number` of a run; the kinds of faults alternate.
template <typename Family>
Case<Family> MakeCase(uint64_t seed, uint64_t number) {
  Case<Family> result;
  result.seed = seed * 1'000'003 + number;
  Random random(result.seed);
  const auto kind = static_cast<typename Family::FaultKind>(number % KindsOf<Family>());
  result.generated = Generate(kind, &random);
  return result;
}

template <typename Family>
Judgement RunCase(const Case<Family>& one, typename Family::Observation* seen) {
  Random random(one.seed ^ 0x9e3779b97f4a7c15);
  const typename Family::Machine machine(one.generated.program);
  *seen = Observe(one.generated.program, machine, &random);
  return Judge(one.generated, machine, *seen);
}

// Returns the program, its trace and its findings as readable text.
template <typename Family>
std::string ShowCase(const Case<Family>& one, const typename Family::Observation& seen,
                     const Judgement& judgement) {
  const auto& planted = one.generated.planted;
  return fmt::format(
      "planted: {}, by {}\n{}{}{}", Family::kFaults[static_cast<size_t>(planted.kind)].text,
      FoldRanks(planted.ranks), Text(one.generated.program), seen.text, ReportText(judgement));
}

// The counts of many traces.
struct Sample {
  std::vector<Tally> by_kind;
  Tally all;
};

// Compares the first traces of a run, or every `step`-th from `first` on. Calls `visit(number, one,
// seen, judgement)` for each; the run ends if it returns false.
template <typename Family, typename Visit>
Sample CompareMany(uint64_t seed, uint64_t traces, const Visit& visit, uint64_t first = 0,
                   uint64_t step = 1) {
  Sample sample;
  sample.by_kind.resize(KindsOf<Family>());
  for (uint64_t number = first; number < traces; number += step) {
    const Case<Family> one = MakeCase<Family>(seed, number);
    typename Family::Observation seen;
    const Judgement judgement = RunCase<Family>(one, &seen);
    sample.by_kind[number % KindsOf<Family>()].Add(judgement);
    sample.all.Add(judgement);
    if (!visit(number, one, seen, judgement)) break;
  }
  return sample;
}

// Lists by kind where the run names too few culprits or too many other ranks; empty if nowhere.
template <typename Family>
std::string Shortfalls(const Sample& sample) {
  return Shortfalls(sample.by_kind, Family::kFaults);
}

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_CASE_H_
