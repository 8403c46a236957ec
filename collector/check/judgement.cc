// SPDX-License-Identifier: Apache-2.0
#include "collector/check/judgement.h"

#include <utility>

namespace rollcall {

Judgement JudgeAll(const Report& report) {
  Judgement judgement;
  for (const Finding& finding : report.findings) {
    const bool note = KindSeverity(finding.kind) == Severity::kNote;
    Ruling ruling;
    if (note) ruling.weight = Ruling::Weight::kNote;
    if (finding.idle) ruling.weight = Ruling::Weight::kWarning;
    judgement.rulings.push_back(std::move(ruling));
  }
  return judgement;
}

}  // namespace rollcall
