// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/op-mismatch.md
#include "collector/diagnosis/rules/argument_mismatch.h"
#include "collector/diagnosis/rules/rules.h"

namespace rollcall {

std::optional<Finding> JudgeOpMismatch(const Analysis& analysis, const Incident& incident,
                                       const Divergence&) {
  return JudgeArguments(analysis, incident, MismatchKind::kReduceOp, VerdictKind::kOpMismatch);
}

}  // namespace rollcall
