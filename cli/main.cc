// The rollcall command: finds the subcommand in the table and passes the remaining arguments to it.
#include <fmt/core.h>

#include <exception>
#include <string_view>

#include "cli/command.h"
#include "collector/base/print_line.h"

namespace rollcall {
namespace {

struct Command {
  std::string_view name;
  int (*function)(int argc, char** argv);
  std::string_view help;
};

constexpr Command kCommands[] = {
#define COMMAND(name, function, help) {#name, function, help},
#include "cli/commands.def"
#undef COMMAND
};

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
    fmt::print("rollcall {}\n", ROLLCALL_VERSION);
    return 0;
  }
  const bool is_help = word == "help" || word == "--help" || word == "-h";
  if (is_help && argc == 2) {
    PrintHelp(stdout);
    return 0;
  }
  const std::string_view name = is_help ? argv[2] : argv[1];
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

}  // namespace
}  // namespace rollcall

int main(int argc, char** argv) {
  // Bad input does not throw; the remaining exceptions are out-of-memory errors.
  try {
    return rollcall::Main(argc, argv);
  } catch (const std::exception& error) {
    rollcall::PrintLine(error.what());
    return rollcall::kUsage;
  }
}
