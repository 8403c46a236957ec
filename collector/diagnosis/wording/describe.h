// What the rules' findings have in common: who, where, since which call, how certain.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_

#include <string>
#include <vector>

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

// "MPI_Allreduce #58  (1 × MPI_DOUBLE, MPI_SUM)", "MPI_Finalize"; `arguments` adds the brackets.
std::string CallText(const Analysis& analysis, const Event& event, bool arguments = true);
// "MPI_Allreduce #3"; " on rows" follows where that is not the incident's communicator.
std::string OtherCall(const Analysis& analysis, const Incident& incident, const Event& event);
// "MPI_Barrier #58 on MPI_COMM_WORLD"
std::string NumberedCall(const Analysis& analysis, const Incident& incident, Operation operation);
// "exited with 3", "was killed by SIGSEGV", "vanished".
std::string EndText(const Process& process);
// "raised ValueError: bad sample", "threw std::out_of_range".
std::string RaisedText(const UncaughtException& exception);
// "2.5 s", "3 min".
std::string DurationText(int64_t ns);
// Somebody on the deviating side stands in a send that MPI may buffer: with a buffer it would
// return, and the mistake does not show.
bool BufferHides(const Analysis& analysis, const Incident& incident);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_WORDING_DESCRIBE_H_
