// What the comparison of one trace with the engine says, and the count of many.
#ifndef ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_
#define ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall::oracle {

// How well the first finding names who did it. Of traces of which the end was seen only.
enum class Hit {
  kExact,         // the planted ranks, and no others
  kTie,           // as many on one side as on the other, and it says so or names the other side
  kPartly,        // one of them, or others besides, or who waits for a message of theirs
  kNobody,        // something is wrong, and nobody is named
  kWrong,         // only others
  kMissed,        // nothing is said
  kInconclusive,  // it says that it does not know
};
inline constexpr int kHits = 7;
inline constexpr int kCertainties = 3;  // proven, likely, suspected

// A kind of fault, and what is wanted of the traces that it makes stuck, in percent.
struct FaultInfo {
  std::string_view text;
  int named;   // so many at least end in Hit::kExact or kTie
  int others;  // and so many at most in Hit::kWrong
};

struct Judgement {
  // What must not be: see Judge().
  std::vector<std::string> violations;
  bool ended = false;    // nothing could move any more
  bool stuck = false;    // some rank is inside a call for good
  bool proven = false;   // a finding says so of a hang
  bool by_luck = false;  // stuck now, and would not be if every send were buffered
  bool luck_said = false;
  bool may_go_on = false;  // proven, and not of all that it calls waiting
  bool bounded = false;    // too many states to decide
  bool unsafe = false;     // completed, and would not have if no send were buffered
  bool unsafe_said = false;
  // It may be too early to say anything, or there is a thread that may still act: no hit is wanted.
  bool open = false;
  // Is the kind that of what was planted? Nothing where that has none, or several.
  std::optional<bool> kind_right;
  Hit hit = Hit::kMissed;
  Report report;
};

// What a run of many traces counts.
struct Tally {  // of counts alone: see Add()
  uint64_t traces = 0;
  uint64_t stuck = 0;
  uint64_t open = 0;  // besides: nothing is wanted of them
  uint64_t proven = 0;
  uint64_t silent = 0;  // ended with the fault in it
  uint64_t by_luck = 0;
  uint64_t luck_said = 0;
  uint64_t may_go_on = 0;
  uint64_t bounded = 0;
  uint64_t unsafe = 0;
  uint64_t unsafe_said = 0;
  uint64_t violations = 0;
  uint64_t hits[kHits] = {};         // of those that are stuck
  uint64_t silent_hits[kHits] = {};  // of those that came to their end
  // First findings of what is stuck, by the certainty of their kind: all, and those whose kind is
  // that of what was planted.
  uint64_t kinds[kCertainties] = {};
  uint64_t kinds_right[kCertainties] = {};
  void Add(const Judgement& judgement);
  void Add(const Tally& other);
};

// Where a run names too few of the guilty, or too often others only. Empty if all is well.
std::string Shortfalls(std::span<const Tally> tallies, std::span<const FaultInfo> faults);

// The findings and violations, one a line.
std::string ReportText(const Judgement& judgement);

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_JUDGEMENT_H_
