// SPDX-License-Identifier: Apache-2.0
// Declarations of the subcommands (from commands.def), and exit codes.
#ifndef ROLLCALL_CLI_COMMAND_H_
#define ROLLCALL_CLI_COMMAND_H_

namespace rollcall {

// Exit codes of `analyze` and `check`. The other commands use kUsage for usage and set-up errors.
// `run` exits with the job's exit code.
enum ExitCode : int {
  kNothingFound = 0,
  kFindings = 1,
  kUsage = 2,
  kJobFailed = 3,  // `check`: the job failed by itself, without a finding
};

#define COMMAND(name, function, help) int function(int argc, char** argv);
#include "cli/commands.def"
#undef COMMAND

// exec is also linked into rollcall-exec, which has no ArgumentParser.
inline constexpr char kExecDescription[] =
    "Runs a rank's program under a parent that sees how it ends. `rollcall run` uses it where\n"
    "the launcher allows; elsewhere put it in front of the program:\n\n"
    "  rollcall run -- srun rollcall exec -- ./app";

}  // namespace rollcall

#endif  // ROLLCALL_CLI_COMMAND_H_
