// Which processes ended before their time, and which were only ended with the rest of the job.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DEATHS_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DEATHS_H_

#include "collector/model/trace.h"

namespace rollcall {

// Did the process end by itself before the job's end, rather than with it? See
// docs/verdicts/rank-died.md.
bool DiedByItself(const Trace& trace, const Process& process);
// Of one that died by itself: is it certain that no other death came first?
bool IsFirstDeathCertain(const Trace& trace, const Process& process);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DEATHS_H_
