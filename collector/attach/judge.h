// Draws conclusions from where the ranks of a job are. Pure.
//
// A stack shows the final state, not the history, so no finding is proven. A finding is likely if
// two complete stacks diverge in the user's code, and suspected if it rests on a single frame.
// Ranks inside a call wait for ranks that are not; the position of the majority is no evidence that
// the majority is right.
#ifndef ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_
#define ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_

#include <cstddef>

#include "collector/attach/job_finder.h"
#include "collector/attach/rank_state.h"
#include "collector/diagnosis/verdict/finding.h"

namespace rollcall::attach {

// The trace of `rank_states` should contain the sources (import/add_sources.h), if they are
// readable.
Report Judge(const FoundJob& job, const RankStates& rank_states);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_JUDGE_H_
