// SPDX-License-Identifier: Apache-2.0
#include "cli/command_texts.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/command_table.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"

namespace rollcall {
namespace {

bool WritePage(const std::filesystem::path& path, const std::string& page) {
  if (WriteWholeFile(path, page)) return true;
  PrintLine(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  return false;
}

}  // namespace

std::vector<NamedCommandText> DescribeCommands() {
  std::vector<NamedCommandText> commands;
  for (const Command& command : kCommands) {
    const bool has_parser = command.function != RunExec;
    commands.push_back(
        {.name = command.name,
         .summary = command.help,
         .text = has_parser ? Describe(command.function)
                            : CommandText{.description = kExecDescription, .runs_program = true}});
  }
  return commands;
}

int WriteManPages(const std::string& directory) {
  const std::filesystem::path root = directory;
  std::error_code error;
  std::filesystem::create_directories(root, error);
  const std::vector<NamedCommandText> commands = DescribeCommands();
  bool written = WritePage(root / "rollcall.1", ManPage(commands));
  for (const NamedCommandText& command : commands) {
    written =
        written && WritePage(root / fmt::format("rollcall-{}.1", command.name), ManPage(command));
  }
  return written ? kNothingFound : kUsage;
}

int PrintCompletion(std::string_view shell) {
  const std::string text = Completion(shell, DescribeCommands());
  if (text.empty()) {
    PrintLine(fmt::format("no completion for '{}'; there are bash, zsh and fish", shell));
    return kUsage;
  }
  fmt::print("{}", text);
  return kNothingFound;
}

}  // namespace rollcall
