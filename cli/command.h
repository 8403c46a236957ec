// What the subcommands share: their declarations (from commands.def), exit codes, and the way in
// which their arguments are parsed.
#ifndef ROLLCALL_CLI_COMMAND_H_
#define ROLLCALL_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

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

// Parses argv into `app`. A value is the exit code with which to leave at once: kUsage after an
// error (explained on stderr), 0 after --help (printed on stdout).
inline std::optional<int> ParseArguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_error = error.get_exit_code() != 0;
    app.exit(error);
    return is_error ? kUsage : kNothingFound;
  }
  return std::nullopt;
}

}  // namespace rollcall

#endif  // ROLLCALL_CLI_COMMAND_H_
