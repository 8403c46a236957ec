// SPDX-License-Identifier: Apache-2.0
// The result of the comparison of one trace with the engine, and the counts of many.
#ifndef ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_
#define ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall::oracle {

// How well the first finding names the culprits. Counted only for traces whose end was observed.
enum class Hit {
  kExact,         // exactly the planted ranks
  kTie,           // both sides are equal, and the finding reports that or names the other side
  kPartly,        // some of them, also other ranks, or ranks that wait for a message of theirs
  kNobody,        // there is a finding without culprits
  kWrong,         // only other ranks
  kMissed,        // there is no finding
  kInconclusive,  // the finding is inconclusive
};
inline constexpr int kHits = 7;
inline constexpr int kCertainties = 3;  // proven, likely, suspected

// A kind of fault, and the requirements on the traces that it makes stuck, in percent.
struct FaultInfo {
  std::string_view text;
  int named;   // the minimum share of Hit::kExact and kTie
  int others;  // the maximum share of Hit::kWrong
};

// Defines FaultKind, kFaults and kFaultKinds from a list of FAULT(identifier, text, named, others).
#define ROLLCALL_DEFINE_FAULTS(LIST)                           \
  enum class FaultKind { LIST(ROLLCALL_FAULT_KIND) };          \
  constexpr FaultInfo kFaults[] = {LIST(ROLLCALL_FAULT_INFO)}; \
  inline constexpr int kFaultKinds = static_cast<int>(std::size(kFaults))
#define ROLLCALL_FAULT_KIND(identifier, text, named, others) k##identifier,
#define ROLLCALL_FAULT_INFO(identifier, text, named, others) {text, named, others},

struct Judgement {
  // The violated rules of Judge().
  std::vector<std::string> violations;
  bool ended = false;    // no step was possible any more
  bool stuck = false;    // some rank is inside a call for ever
  bool proven = false;   // a finding calls the hang proven
  bool by_luck = false;  // stuck, but not if every send were buffered
  bool luck_said = false;
  bool may_go_on = false;  // proven, but some rank that it calls waiting may continue
  bool bounded = false;    // too many states for a decision
  bool unsafe = false;     // completed, but not if no send were buffered
  bool unsafe_said = false;
  // It may be too early for a verdict, or a thread may still act, so no hit is required.
  bool open = false;
  bool sourced = false;  // the diagnosis knows the loops and branches of the source
  // Whether the kind is that of the planted fault; empty if the fault has no kind or several.
  std::optional<bool> kind_right;
  Hit hit = Hit::kMissed;
  Report report;
};

// The counts of a run of many traces.
struct Tally {  // contains only counts, as Add() requires
  uint64_t traces = 0;
  uint64_t stuck = 0;
  uint64_t open = 0;  // additional traces without a requirement
  uint64_t proven = 0;
  uint64_t silent = 0;  // completed despite the fault
  uint64_t by_luck = 0;
  uint64_t luck_said = 0;
  uint64_t may_go_on = 0;
  uint64_t bounded = 0;
  uint64_t unsafe = 0;
  uint64_t unsafe_said = 0;
  uint64_t violations = 0;
  uint64_t hits[kHits] = {};          // of the stuck traces
  uint64_t sourced_hits[kHits] = {};  // of the stuck traces with a source
  uint64_t silent_hits[kHits] = {};   // of the completed traces
  // First findings of stuck traces by the certainty of their kind: all, and those with the kind of
  // the planted fault.
  uint64_t kinds[kCertainties] = {};
  uint64_t kinds_right[kCertainties] = {};
  uint64_t named[kCertainties][kHits] = {};  // stuck traces, by the certainty of the kind
  void Add(const Judgement& judgement);
  void Add(const Tally& other);
};

// Lists where a run names too few culprits or too often only other ranks; empty if nowhere.
std::string Shortfalls(std::span<const Tally> tallies, std::span<const FaultInfo> faults);

// Returns a violated rule, and the finding that violates it.
std::string ViolationText(const Finding& finding, std::string_view rule);

// Returns the findings and violations, one per line.
std::string ReportText(const Judgement& judgement);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_
