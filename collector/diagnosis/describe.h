// What the rules' findings have in common: who, where, since which call, how certain.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DESCRIBE_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DESCRIBE_H_

#include <string>
#include <vector>

#include "collector/diagnosis/finding.h"
#include "collector/diagnosis/incident.h"
#include "collector/diagnosis/order.h"

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
// Since when a process has made no call; -1 if unknown.
int64_t IdleNs(const Analysis& analysis, uint32_t process);
// Nothing of it moves, and has not for as long as makes a rank stalled, or for `times` as long.
bool StoodStill(const Analysis& analysis, uint32_t process, int64_t times = 1);
// It made a call so lately that on a busy machine it may still be about to return from it, however
// little moved between two looks. Nobody just came in a job that is over.
bool JustCame(const Analysis& analysis, uint32_t process);
// "solver.c:88"; empty if unknown.
std::string PlaceText(const SourceFrame& frame);
// "exchange()", "the top level of train.py".
std::string FunctionText(const SourceFrame& frame);

// Somebody on the deviating side stands in a send that MPI may buffer: with a buffer it would
// return, and the mistake does not show.
bool BufferHides(const Analysis& analysis, const Incident& incident);
}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DESCRIBE_H_
