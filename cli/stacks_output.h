// SPDX-License-Identifier: Apache-2.0
// Printing of stacks, for `rollcall attach` and for `rollcall analyze` of a bundle with stacks.
#ifndef ROLLCALL_CLI_STACKS_OUTPUT_H_
#define ROLLCALL_CLI_STACKS_OUTPUT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "cli/outputs.h"
#include "collector/attach/job_stacks.h"
#include "collector/attach/records.h"
#include "collector/attach/stacks.h"
#include "collector/import/load_inputs.h"
#include "collector/report/text_report.h"

namespace rollcall {

// Joins the stacks of the single job that has ranks on the hosts. Empty, after `none` or `several`
// and the jobs on stderr, if there is no job or more than one.
std::optional<attach::JobStacks> OnlyJob(const std::vector<attach::HostStacks>& hosts,
                                         std::string_view none, std::string_view several);

// Judges the stacks of the single job that was loaded. Empty, after lines on stderr, if there is no
// job or more than one.
std::optional<attach::JudgedStacks> JudgeLoaded(const Inputs& loaded);

// Prints the stack tree of the processes of `trace` that have a place, and the variables that
// differ, to standard output.
void PrintTree(const Trace& trace, bool full);

// Prints the report, the stack tree and the variables to standard output, unless an output goes
// there. Also writes the outputs. If `records` is not null, the report is the report of the ranks'
// records. Returns the exit code.
int PrintStacks(const attach::JudgedStacks& judged, const Outputs& outputs, TextOptions text,
                const attach::Recorded* records = nullptr);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_STACKS_OUTPUT_H_
