// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command_texts.h"
#include "collector/launch/node_commands.h"

namespace rollcall {
namespace {

using Commands = std::vector<NamedCommandText>;

std::string Joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// The first line, with a backslash before each character of `special`.
std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string Quoted(const std::string& text) { return QuotedForShell({text}); }

std::string NamesOf(const Commands& commands) {
  std::string names;
  for (const NamedCommandText& command : commands) names += fmt::format("{} ", command.name);
  return names + "help";
}

std::string NamesOfProgramRunners(const Commands& commands, std::string_view separator) {
  std::vector<std::string> names;
  for (const NamedCommandText& command : commands) {
    if (command.text.runs_program) names.emplace_back(command.name);
  }
  return Joined(names, separator);
}

std::string OptionsOf(const NamedCommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.text.options) {
    if (!option.IsPositional()) names.push_back(Joined(option.names, " "));
  }
  return Joined(names, " ");
}

// The words that complete an option's value; file names are what bash completes by default.
std::string BashAction(const OptionText& option) {
  if (!option.offered.empty()) {
    return fmt::format("words={}", Quoted(Joined(option.offered, " ")));
  }
  if (option.is_directory) return "kind='directory'";
  return option.is_file ? "kind='file'" : "kind='other'";
}

std::string BashOptions(const NamedCommandText& command) {
  std::string text =
      fmt::format("    {})\n      options={}\n", command.name, Quoted(OptionsOf(command)));
  std::string cases;
  for (const OptionText& option : command.text.options) {
    if (option.IsPositional() || option.value.empty()) continue;
    cases += fmt::format("        {}) {} ;;\n", Joined(option.names, "|"), BashAction(option));
  }
  if (!cases.empty()) text += "      case \"$before\" in\n" + cases + "      esac\n";
  return text + "      ;;\n";
}

std::string Bash(const Commands& commands) {
  std::string cases;
  for (const NamedCommandText& command : commands) cases += BashOptions(command);
  return fmt::format(
      R"(# Completion of rollcall for bash; written by `rollcall help --completion bash`.
_rollcall() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD - 1]}}"
  local options='' words='' kind='' i
  COMPREPLY=()
  # bash takes --output=json for three words.
  if [[ "$current" == = ]]; then
    current=''
  elif [[ "$before" == = ]] && ((COMP_CWORD >= 3)); then
    before="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
  if ((COMP_CWORD == 1)) || [[ "$COMP_CWORD $before" == '2 help' ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$current")
    compopt +o default
    return
  fi
  case "${{COMP_WORDS[1]}}" in
    {})
      for ((i = 2; i < COMP_CWORD; ++i)); do
        [[ "${{COMP_WORDS[i]}}" == -- ]] || continue
        if declare -F _command_offset > /dev/null; then _command_offset $((i + 1)); fi
        return
      done
      ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{}  esac
  if [[ -n "$words" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    compopt +o default
    [[ "${{COMPREPLY[*]}}" != *= ]] || compopt -o nospace
  elif [[ "$kind" == directory ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  elif [[ "$kind" == other ]]; then
    compopt +o default
  elif [[ -z "$kind" && "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  fi
}}
complete -o default -F _rollcall rollcall
)",
      NamesOf(commands), NamesOfProgramRunners(commands, "|"), cases);
}

std::string ZshAction(const OptionText& option) {
  constexpr std::string_view kSpecial = ":\\ ()";
  if (!option.offered.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : option.offered) words.push_back(Escaped(word, kSpecial));
    return "(" + Joined(words, " ") + ")";
  }
  if (option.is_directory) return "_files -/";
  return option.is_file ? "_files" : " ";
}

// A specification for _arguments.
std::string ZshOption(const OptionText& option) {
  const std::string help = Escaped(option.help, "[]:\\");
  const std::string value = Escaped(option.value, ":\\");
  if (option.IsPositional()) {
    return Quoted(fmt::format("{}:{}:{}", option.is_list ? "*" : "", option.names.front(),
                              ZshAction(option)));
  }
  std::string specification;
  for (const std::string& name : option.names) {
    std::string one = option.is_list ? "*" : "";
    one += name;
    if (!option.value.empty()) one += name.starts_with("--") ? "=" : "+";
    one += fmt::format("[{}]", help);
    if (!option.value.empty()) one += fmt::format(":{}:{}", value, ZshAction(option));
    if (!specification.empty()) specification += " ";
    specification += Quoted(one);
  }
  return specification;
}

std::string Zsh(const Commands& commands) {
  std::string list;
  std::string cases;
  for (const NamedCommandText& command : commands) {
    list += fmt::format(
        "    {}\n", Quoted(fmt::format("{}:{}", command.name, Escaped(command.summary, ":\\"))));
    cases += fmt::format("    {})\n      _arguments -s -S", command.name);
    for (const OptionText& option : command.text.options) {
      if (option.IsPositional() && command.text.runs_program) continue;
      cases += " \\\n        " + ZshOption(option);
    }
    if (command.text.runs_program) cases += " \\\n        '*::: :_normal'";
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef rollcall
# Completion of rollcall for zsh; written by `rollcall help --completion zsh`.
_rollcall() {{
  local -a commands
  commands=(
{}    'help:describe a command'
  )
  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
    _describe command commands
    (( CURRENT > 2 )) || _arguments '--help[list the commands]' '--version[print the version]'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ "$funcstack[1]" == _rollcall ]]; then
  _rollcall "$@"
else
  compdef _rollcall rollcall
fi
)",
                     list, cases);
}

std::string FishOption(const NamedCommandText& command, const OptionText& option) {
  std::string line =
      fmt::format("complete -c rollcall -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.offered.empty()) {
    line += fmt::format(" -x -a '{}'", Escaped(Joined(option.offered, " "), "'\\"));
  } else if (option.is_directory) {
    line += " -x -a '(__fish_complete_directories)'";
  } else if (option.is_file) {
    line += " -r -F";
  } else if (!option.value.empty()) {
    line += " -x";
  }
  return line + fmt::format(" -d '{}'\n", Escaped(option.help, "'\\"));
}

// The program that the command runs. fish must know which options are followed by a value; its
// function takes the long options up to the first other word, here a hyphen, for its own.
std::string FishProgram(const NamedCommandText& command) {
  std::vector<std::string> with_value;
  for (const OptionText& option : command.text.options) {
    if (!option.value.empty() && !option.IsPositional()) {
      with_value.push_back(Joined(option.names, " "));
    }
  }
  return fmt::format(
      "complete -c rollcall -n '__fish_seen_subcommand_from {}' -x -a "
      "'(__fish_complete_subcommand --fcs-skip=2 - {})'\n",
      command.name, Joined(with_value, " "));
}

std::string Fish(const Commands& commands) {
  const std::string names = NamesOf(commands);
  std::string text =
      "# Completion of rollcall for fish; written by `rollcall help --completion fish`.\n"
      "complete -c rollcall -f\n"
      "complete -c rollcall -n __fish_use_subcommand -l help -s h -d 'list the commands'\n"
      "complete -c rollcall -n __fish_use_subcommand -l version -s V -d 'print the version'\n"
      "complete -c rollcall -n __fish_use_subcommand -a help -d 'describe a command'\n";
  text +=
      fmt::format("complete -c rollcall -n '__fish_seen_subcommand_from help' -a '{}'\n", names);
  for (const NamedCommandText& command : commands) {
    text += fmt::format("complete -c rollcall -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, Escaped(command.summary, "'\\"));
    if (command.text.runs_program) text += FishProgram(command);
    for (const OptionText& option : command.text.options) {
      if (!option.IsPositional()) {
        text += FishOption(command, option);
      } else if (option.is_file) {
        text += fmt::format("complete -c rollcall -n '__fish_seen_subcommand_from {}' -F\n",
                            command.name);
      }
    }
  }
  return text;
}

}  // namespace

std::string Completion(std::string_view shell, const Commands& commands) {
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return Zsh(commands);
  if (shell == "fish") return Fish(commands);
  return "";
}

}  // namespace rollcall
