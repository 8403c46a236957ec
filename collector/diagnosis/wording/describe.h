// SPDX-License-Identifier: Apache-2.0
// The common parts of findings: culprits, places, the first wrong call, certainty.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall {

// Fills everything but title and reason: culprits, waiting ranks, lines, certainty, and notes on
// what lowers the certainty. The certainty of the kind is set to that of the hang. The operation is
// the agreeing side's, unless `deviating_operation`.
Finding Draft(const Analysis& analysis, const Incident& incident, VerdictKind kind,
              bool deviating_operation = false);

// Whether a rank of the deviating side is in a send that MPI may buffer. With a buffer, the send
// would return and hide the mistake.
bool BufferHides(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
