// The common parts of findings: culprits, places, since which call, certainty.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/order.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Everything but title and reason (the kind is as certain as the hang): culprits, waiting ranks,
// lines, certainty, and notes on what lowers it. The operation is the agreeing side's, unless
// `deviating_operation`.
Finding Draft(const Analysis& analysis, const Incident& incident, VerdictKind kind,
              bool deviating_operation = false);

// Whether a rank of the deviating side is in a send that MPI may buffer: with a buffer it would
// return, and the mistake would not show.
bool BufferHides(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
