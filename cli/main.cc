// SPDX-License-Identifier: Apache-2.0
// The rollcall command: finds the subcommand in the table and passes the remaining arguments to it.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/command_table.h"
#include "cli/command_texts.h"
#include "cli/version.h"
#include "collector/base/bounded.h"
#include "collector/base/print_line.h"

namespace rollcall {
namespace {

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

void PrintHelp(std::FILE* to) {
  fmt::print(to,
             "rollcall finds the rank that makes a distributed job hang, and its line of code.\n\n"
             "usage: rollcall COMMAND [ARGUMENT...]\n\n");
  for (const Command& command : kCommands) {
    fmt::print(to, "  {:<10} {}\n", command.name, command.help);
  }
  fmt::print(
      to,
      "  {:<10} {}\n\n"
      "`rollcall help COMMAND` describes a command; `rollcall --version` prints the version.\n",
      "help", "this text");
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    PrintHelp(stderr);
    return kUsage;
  }
  const std::string_view word = argv[1];
  if (word == "--version" || word == "-V") {
    fmt::print("{}", VersionText());
    return 0;
  }
  const bool is_help = word == "help" || word == "--help" || word == "-h";
  if (is_help && argc == 2) {
    PrintHelp(stdout);
    return 0;
  }
  const std::string_view name = is_help ? argv[2] : argv[1];
  if (is_help && argc == 4 && name == "--man") return WriteManPages(argv[3]);
  if (is_help && argc == 4 && name == "--completion") return PrintCompletion(argv[3]);
  const Command* command = FindCommand(name);
  if (command == nullptr) {
    PrintLine(fmt::format("no command '{}'; `rollcall help` lists them", name));
    return kUsage;
  }
  if (is_help) {
    char help[] = "--help";
    char* arguments[] = {argv[2], help, nullptr};
    return command->function(2, arguments);
  }
  return command->function(argc - 1, argv + 1);
}

// Opens standard streams that are closed. Otherwise another file could get the number of a closed
// stream and be written to instead of the stream. Programs that are started from here find the
// stream closed, as it was.
void OpenClosedStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    // A descriptor that was passed to this program cannot be FD_CLOEXEC. gRPC 1.51 opens an eventfd
    // before main(), to detect whether eventfds are supported, and does not close it.
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) continue;
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || null == fd) continue;
    dup3(null, fd, O_CLOEXEC);
    close(null);
  }
}

}  // namespace
}  // namespace rollcall

int main(int argc, char** argv) {
  // Bad input does not throw; the remaining exceptions are out-of-memory errors.
  try {
    rollcall::OpenClosedStreams();
    const int code = rollcall::Main(argc, argv);
    if (!rollcall::WorkWasLeft()) return code;
    std::fflush(nullptr);
    _exit(code);
  } catch (const std::exception& error) {
    rollcall::PrintLine(error.what());
    return rollcall::kUsage;
  }
}
