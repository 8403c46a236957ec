// What `rollcall attach` prints of stacks, and `rollcall analyze` of those in a bundle.
#ifndef ROLLCALL_CLI_STACKS_OUTPUT_H_
#define ROLLCALL_CLI_STACKS_OUTPUT_H_

#include "cli/outputs.h"
#include "collector/attach/job_stacks.h"
#include "collector/attach/records.h"
#include "collector/report/text_report.h"

namespace rollcall {

// The report, the tree of stacks and the variables on standard output, unless an output goes there;
// and the outputs. `records`: the report is that of what the ranks recorded; may be null. Returns
// the exit code.
int PrintStacks(const attach::JudgedStacks& judged, const Outputs& outputs, TextOptions text,
                const attach::Recorded* records = nullptr);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_STACKS_OUTPUT_H_
