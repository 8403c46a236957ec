// SPDX-License-Identifier: Apache-2.0
// Compares the findings about the data of a run with the fault that was planted in it.
#ifndef ROLLCALL_TESTS_ORACLE_DATA_JUDGE_H_
#define ROLLCALL_TESTS_ORACLE_DATA_JUDGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "tests/oracle/data/generate.h"

namespace rollcall::oracle::data {

// Whom the finding about the fault names.
enum class Named {
  kExactly,  // the planted rank; of a fault of nobody: no rank
  kBesides,  // also others
  kWrong,    // only others
  kNobody,   // no rank, or the ranks of both sides
  kSilent,   // there is no finding
};
inline constexpr int kNamed = 5;
inline constexpr std::string_view kNamedTexts[] = {"named", "with others", "wrong", "unnamed",
                                                   "silent"};

struct Comparison {
  // The violated rules:
  //  - A proven finding about data names no rank but the planted one.
  //  - Where no fault took effect, nothing is found.
  std::vector<std::string> violations;
  bool took_effect = false;
  // Of the finding of the fault's kind, or else the first about data.
  Named named = Named::kSilent;
  Certainty certainty = Certainty::kInconclusive;
  std::vector<Finding> findings;  // about data
};

// One program of a run, and what was found.
struct OneRun {
  DataProgram program;
  Comparison comparison;
  std::string text;  // the trace, and what the fault did
};

OneRun RunOne(uint64_t seed, uint64_t number);

// The program, its trace and its findings as readable text.
std::string Show(const OneRun& one);

// The counts of many programs.
struct Counts {
  uint64_t programs = 0;
  uint64_t took_effect = 0;
  uint64_t silent = 0;
  uint64_t named[kCertainties][kNamed] = {};  // of those in which the fault took effect
  uint64_t findings = 0;                      // programs without effect of which anything is found
  uint64_t violations = 0;
  void Add(const Comparison& comparison);
  void Add(const Counts& other);
  uint64_t Sum(Named how) const;
};

struct Counted {
  Counts all;
  // By kind of fault, of the programs of which everything is read, and of the others; and by
  // variation.
  Counts whole[kFaultKinds];
  Counts varied[kFaultKinds];
  Counts variations[kVariationKinds];
  void Add(const OneRun& one);
  void Add(const Counted& other);
};

// Where a run names too few planted ranks or too often others only; empty if nowhere.
std::string Shortfalls(const Counted& counted);

// Markdown.
std::string Tables(const Counted& counted);

}  // namespace rollcall::oracle::data

#endif  // ROLLCALL_TESTS_ORACLE_DATA_JUDGE_H_
