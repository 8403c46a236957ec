// Ranks that will not come: they are gone, on their way out, or stand outside of every call. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_

#include "collector/attach/judgement.h"

namespace rollcall::attach {

// Adds what it finds to the report; false if all ranks are there and wait. Takes ranks that
// finalize from those that wait.
bool JudgeAbsent(Judgement* judgement, Report* report);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_
