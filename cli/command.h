// What the subcommands share: their declarations (from commands.def), and exit codes.
#ifndef ROLLCALL_CLI_COMMAND_H_
#define ROLLCALL_CLI_COMMAND_H_

namespace rollcall {

// `analyze` and `check`; the other commands use kUsage for errors of use and set-up. `run` passes
// the job's own code through.
enum ExitCode : int {
  kNothingFound = 0,
  kFindings = 1,
  kUsage = 2,
  kJobFailed = 3,  // `check`: the job failed by itself, without a finding
};

#define COMMAND(name, function, help) int function(int argc, char** argv);
#include "cli/commands.def"
#undef COMMAND

}  // namespace rollcall

#endif  // ROLLCALL_CLI_COMMAND_H_
