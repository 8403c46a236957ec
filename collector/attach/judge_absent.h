// Finds ranks that will not enter the calls that others wait in: they have ended, are exiting, or
// are outside of every call. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_

#include "collector/attach/judgement.h"

namespace rollcall::attach {

// Adds its findings to the report; returns false if all ranks exist and wait. Removes finalizing
// ranks from the waiting ones.
bool JudgeAbsent(Judgement* judgement, Report* report);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGE_ABSENT_H_
