// SPDX-License-Identifier: Apache-2.0
// The certainty of the cause that a finding names: one table, in cause.cc.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_

#include "collector/diagnosis/detectors/divergence.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Decides both certainties of a finding, and adds notes that say why they are not higher. Before
// the call, both are the result of HangCertainty().
void SettleCertainty(const Analysis& analysis, const Incident& incident,
                     const Divergence& divergence, Finding* finding);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_
