// How certain the cause is that a finding names: one table, in cause.cc.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_

#include "collector/diagnosis/certainty/weak_wait.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Decides both certainties of a finding that has that of HangCertainty(), and notes why they are
// not higher.
void SettleCertainty(const Analysis& analysis, const Incident& incident,
                     const Divergence& divergence, Finding* finding);

// Whether the incident holds even if other ranks may continue: that a rank ended, for example, but
// not that MPI rejected a call of a rank that continues. Programs provoke such errors on purpose;
// only a wait would tell.
bool IsFact(const Analysis& analysis, const Incident& incident);

// A culprit has ended, or has called a function that ends it.
bool AnyGone(const Trace& trace, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_CERTAINTY_CAUSE_H_
