// SPDX-License-Identifier: Apache-2.0
// Man pages and completions, made from the tables that --help prints: cli/commands.def, and the
// options that each command adds to its ArgumentParser.
#ifndef ROLLCALL_CLI_COMMAND_TEXTS_H_
#define ROLLCALL_CLI_COMMAND_TEXTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "cli/argument_parser.h"

namespace rollcall {

struct NamedCommandText {
  std::string_view name;
  std::string_view summary;  // one line
  CommandText text;
};

// All commands, in the order of `rollcall help`.
std::vector<NamedCommandText> DescribeCommands();

// A man page in the macros of man(7), in ASCII: of rollcall itself, or of one command.
std::string ManPage(const std::vector<NamedCommandText>& commands);
std::string ManPage(const NamedCommandText& command);

// The completion for a shell: "bash", "zsh" or "fish"; "" for any other.
std::string Completion(std::string_view shell, const std::vector<NamedCommandText>& commands);

// `rollcall help --man DIR` and `rollcall help --completion SHELL`. Returns an exit code.
int WriteManPages(const std::string& directory);
int PrintCompletion(std::string_view shell);

}  // namespace rollcall

#endif  // ROLLCALL_CLI_COMMAND_TEXTS_H_
