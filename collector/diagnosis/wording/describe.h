// What the rules' findings have in common: who, where, since which call, how certain.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Everything but title and why (the kind as certain as the hang): culprits, waiting ranks, lines,
// certainty, notes on what lowers it. The operation is the agreeing side's, unless
// `deviating_operation`.
Finding Draft(const Analysis& analysis, const Incident& incident, VerdictKind kind,
              bool deviating_operation = false);

// Why it happened is a conclusion, of that certainty at most.
void LimitKindCertainty(Certainty limit, Finding* finding);

// Somebody on the deviating side stands in a send that MPI may buffer: with a buffer it would
// return, and the mistake does not show.
bool BufferHides(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
