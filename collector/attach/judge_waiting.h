// Diagnoses jobs in which all ranks wait, at one place or at several: for each other's messages, or
// in collectives. Pure.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGE_WAITING_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGE_WAITING_H_

#include "collector/attach/judgement.h"

namespace rollcall::attach {

// Adds its findings to the report.
void JudgeWaiting(const Judgement& judgement, Report* report);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGE_WAITING_H_
