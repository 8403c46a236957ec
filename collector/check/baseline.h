// SPDX-License-Identifier: Apache-2.0
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
  std::string pattern;  // for fnmatch(3); a file pattern may match trailing components of the path
  std::string reason;
  int line = 0;  // in the baseline file, from 1

  // True if the finding has the kind, and a place that it shows matches the pattern. "*" also
  // matches a finding without a place.
  bool Fits(const Finding& finding) const;
  // "p2p-deadlock in exchange*"
  std::string Text() const;
};

struct Baseline {
  std::string name;  // file name, for messages
  std::vector<BaselineEntry> entries;
};

// `errors` gets "NAME:LINE: what is wrong" for every line that is not an entry, a comment (#) or
// blank; such lines are skipped.
Baseline ParseBaseline(std::string_view text, const std::string& name,
                       std::vector<std::string>* errors);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CHECK_BASELINE_H_
