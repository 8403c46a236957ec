// The baseline of `rollcall check`: findings that are known and accepted for now, each with a
// reason. docs/ci.md describes the file.
#ifndef ROLLCALL_COLLECTOR_CHECK_BASELINE_H_
#define ROLLCALL_COLLECTOR_CHECK_BASELINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// "KIND at FILE because REASON", "KIND in FUNCTION because REASON".
struct BaselineEntry {
  enum class Where : uint8_t { kFile, kFunction };
  VerdictKind kind = VerdictKind::kInconclusive;
  Where where = Where::kFile;
  std::string pattern;  // as fnmatch(3) has it; a file's fits any number of its last components
  std::string reason;
  int line = 0;  // in the baseline, from 1

  // Whether it is of the kind, and one of the places that the finding shows fits the pattern. "*"
  // also fits a finding without a place.
  bool Fits(const Finding& finding) const;
  // "p2p-deadlock in exchange*"
  std::string Text() const;
};

struct Baseline {
  std::string name;  // of the file, for messages
  std::vector<BaselineEntry> entries;
};

// `errors` gets "NAME:LINE: what is wrong" for every line that is neither an entry, a comment (#)
// nor blank; those are left out.
Baseline ParseBaseline(std::string_view text, const std::string& name,
                       std::vector<std::string>* errors);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CHECK_BASELINE_H_
