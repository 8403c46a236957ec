// SPDX-License-Identifier: Apache-2.0
// The table of the subcommands, from commands.def.
#ifndef ROLLCALL_CLI_COMMAND_TABLE_H_
#define ROLLCALL_CLI_COMMAND_TABLE_H_

#include <string_view>

#include "cli/command.h"

namespace rollcall {

struct Command {
  std::string_view name;
  int (*function)(int argc, char** argv);  // argv[0] is the name
  std::string_view help;                   // one line
};

inline constexpr Command kCommands[] = {
#define COMMAND(name, function, help) {#name, function, help},
#include "cli/commands.def"
#undef COMMAND
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_COMMAND_TABLE_H_
