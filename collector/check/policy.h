// SPDX-License-Identifier: Apache-2.0
// Decides which findings fail a build.
#ifndef ROLLCALL_COLLECTOR_CHECK_POLICY_H_
#define ROLLCALL_COLLECTOR_CHECK_POLICY_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/base/result.h"
#include "collector/check/baseline.h"
#include "collector/check/judgement.h"

namespace rollcall {

struct Policy {
  std::set<VerdictKind> fail_on;
  Baseline baseline;
};

// The value of --fail-on: kinds, "errors" (all kinds that are errors) or "all", separated by
// commas; "none" for no kind.
Result<std::set<VerdictKind>> ParseFailOn(std::string_view text);

// A finding counts if three conditions hold: its kind is among the kinds to fail on; no baseline
// entry matches; and it is likely or proven, or has stopped the job. Other findings are reported
// and do not fail a build. `unused` receives a message for each baseline entry that matched
// nothing.
std::vector<Ruling> Judge(const Report& report, const Policy& policy,
                          std::vector<std::string>* unused);

// The number of rulings with that weight.
size_t Count(const std::vector<Ruling>& rulings, Ruling::Weight weight);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_CHECK_POLICY_H_
