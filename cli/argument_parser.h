// SPDX-License-Identifier: Apache-2.0
// The options and positional arguments of a command. Only argument_parser.cc includes CLI11, which
// takes longer to compile than a command.
#ifndef ROLLCALL_CLI_ARGUMENT_PARSER_H_
#define ROLLCALL_CLI_ARGUMENT_PARSER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace rollcall {

// Requirements on an option's value, in addition to its type.
enum class Must : uint8_t { kBeAnything, kBePositive, kBeNonNegative, kExist, kBeDirectory };

// Where an option's value is stored; a bool is a flag, and the options of a list may be repeated.
using Value = std::variant<bool*, std::string*, double*, int32_t*, uint64_t*,
                           std::vector<std::string>*, std::vector<int32_t>*>;

struct OptionRules {
  std::string type = {};  // what --help shows for the value; empty: the type's name
  Must must = Must::kBeAnything;
  std::vector<std::string> one_of = {};   // the only values allowed; empty: any
  std::vector<std::string> offered = {};  // values that completions offer, if one_of is empty
  uint64_t most = 0;                      // the largest number allowed; 0: any
  int count = 0;                          // for a list: the number of values; 0: at least one
  bool required = false;
  bool show_default = false;
  bool comma_separated = false;  // a list's values may be in one argument
  bool one_per_use = false;      // a list's option takes one value each time it is given
  std::string needs = {};        // another option that must be given, too
  std::string excludes = {};     // other options that must not be given; separated by commas
};

// What man pages and completions show of an option or a positional argument.
struct OptionText {
  std::vector<std::string> names;  // as -o and --output; a word without dashes is positional
  std::string value = {};          // stands for the value; empty: a flag
  std::string help = {};
  std::string default_value = {};  // empty: none is shown
  std::vector<std::string> offered = {};
  bool is_list = false;
  bool is_required = false;
  bool is_file = false;
  bool is_directory = false;

  bool IsPositional() const { return names.front().front() != '-'; }
};

struct CommandText {
  std::string description = {};
  std::string footer = {};
  std::vector<OptionText> options = {};  // in the order of --help, which itself is the first
  bool runs_program = false;  // the positional arguments are another program's command line
};

// Describes the arguments of a subcommand (cli/commands.def). `command` is called; Parse() of its
// ArgumentParser keeps the text and ends the call before anything is parsed. Not thread-safe.
CommandText Describe(int (*command)(int argc, char** argv));

// Not thread-safe. The values that the options point to must outlive Parse().
class ArgumentParser {
 public:
  ArgumentParser(const std::string& description, std::string command);
  ~ArgumentParser();
  ArgumentParser(const ArgumentParser&) = delete;
  ArgumentParser& operator=(const ArgumentParser&) = delete;

  // `names` as in "-o,--output"; a word without dashes is a positional argument. `value` holds the
  // default.
  void Add(const std::string& names, Value value, const std::string& help,
           const OptionRules& rules = {});
  // Treats everything from the first positional argument on as positional: another program's
  // command line.
  void StopAtFirstPositional();
  // Printed below --help's list.
  void SetFooter(const std::string& text);
  // `check` is called when all values are stored, after the checks that were added before it. It
  // returns the problem with the values of option `name`, or "".
  void AddCheck(std::string name, std::function<std::string()> check);

  // If a value is returned, the program must exit with it at once: kUsage after an error (explained
  // on stderr), 0 after --help (printed on stdout).
  std::optional<int> Parse(int argc, char** argv);

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_ARGUMENT_PARSER_H_
