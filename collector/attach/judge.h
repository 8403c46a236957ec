// What the places tell at which the ranks of a job stand. Pure.
//
// A stack is an end state, not a history: nothing here is proven. It is likely where two whole
// stacks part in the user's code, and suspected where one frame decides. Who is inside a call waits
// for who is not; that many ranks stand at one place is no evidence that they are right.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_

#include <cstddef>

#include "collector/attach/job_finder.h"
#include "collector/attach/standing.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall::attach {

// Of standings whose trace has its sources (import/add_sources.h), if they can be read.
Report Judge(const FoundJob& job, const Standings& standings);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_
