// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/count-mismatch.md
#include "collector/diagnosis/rules/argument_mismatch.h"
#include "collector/diagnosis/rules/rules.h"

namespace rollcall {

std::optional<Finding> JudgeCountMismatch(const Analysis& analysis, const Incident& incident,
                                          const Divergence&) {
  return JudgeArguments(analysis, incident, MismatchKind::kCount, VerdictKind::kCountMismatch);
}

}  // namespace rollcall
