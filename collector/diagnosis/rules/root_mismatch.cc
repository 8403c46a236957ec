// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/root-mismatch.md
#include "collector/diagnosis/rules/argument_mismatch.h"
#include "collector/diagnosis/rules/rules.h"

namespace rollcall {

std::optional<Finding> JudgeRootMismatch(const Analysis& analysis, const Incident& incident,
                                         const Divergence&) {
  return JudgeArguments(analysis, incident, MismatchKind::kRoot, VerdictKind::kRootMismatch);
}

}  // namespace rollcall
