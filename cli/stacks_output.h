// What `rollcall attach` prints of stacks, and `rollcall analyze` of those in a bundle.
#ifndef ROLLCALL_CLI_STACKS_OUTPUT_H_
#define ROLLCALL_CLI_STACKS_OUTPUT_H_

#include <optional>

#include "cli/outputs.h"
#include "collector/attach/job_stacks.h"
#include "collector/attach/records.h"
#include "collector/attach/standing.h"
#include "collector/import/load_inputs.h"
#include "collector/report/text_report.h"

namespace rollcall {

// The one job whose stacks were loaded. Nothing, after lines on stderr, if there is not one.
std::optional<attach::JudgedStacks> JudgeLoaded(const Inputs& loaded);

// The tree of the ranks in `standings`, and the variables that differ, on standard output.
void PrintTree(const attach::Standings& standings, bool full);

// The report, the tree of stacks and the variables on standard output, unless an output goes there;
// and the outputs. `records`: the report is that of what the ranks recorded; may be null. Returns
// the exit code.
int PrintStacks(const attach::JudgedStacks& judged, const Outputs& outputs, TextOptions text,
                const attach::Recorded* records = nullptr);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_STACKS_OUTPUT_H_
