// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/command_texts.h"
#include "proto/environment.h"

namespace rollcall {
namespace {

// Text for roff: no character of it begins a request or an escape sequence, and a hyphen can be
// copied as an option's first character.
std::string Roff(std::string_view text) {
  std::string roff;
  bool begins_line = true;
  for (size_t i = 0; i < text.size(); ++i) {
    constexpr std::string_view kEllipsis = "…";
    if (text.substr(i).starts_with(kEllipsis)) {
      roff += "...";
      i += kEllipsis.size() - 1;
      begins_line = false;
      continue;
    }
    if (begins_line && (text[i] == '.' || text[i] == '\'')) roff += "\\&";
    if (text[i] == '\n') {
      roff += "\n.br\n";
    } else if (text[i] == '\\') {
      roff += "\\e";
    } else if (text[i] == '-') {
      roff += "\\-";
    } else {
      roff += text[i];
    }
    begins_line = text[i] == '\n';
  }
  return roff;
}

std::string Header(std::string_view page, std::string_view summary) {
  std::string title(page);
  for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return fmt::format(
      ".TH {} 1 \"\" \"rollcall {}\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n",
      Roff(title), ROLLCALL_VERSION, Roff(page), Roff(summary));
}

// "-o, --output FILE", with bold names and the value in italics.
std::string Tag(const OptionText& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    if (!tag.empty()) tag += ", ";
    tag += fmt::format("\\fB{}\\fR", Roff(name));
  }
  if (!option.value.empty() && !option.IsPositional()) {
    tag += fmt::format(" \\fI{}\\fR", Roff(option.value));
  }
  return tag;
}

std::string Entry(const OptionText& option) {
  std::string text = fmt::format(".TP\n{}\n{}", Tag(option), Roff(option.help));
  if (!option.default_value.empty()) {
    text += fmt::format(" (default: {})", Roff(option.default_value));
  }
  return text + "\n";
}

std::string Synopsis(const NamedCommandText& command) {
  std::string text = fmt::format(".SH SYNOPSIS\n.B rollcall {}\n", command.name);
  if (!command.text.options.empty()) text += "[\\fIOPTION\\fR...]\n";
  if (command.text.runs_program) return text + "\\-\\- \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n";
  for (const OptionText& option : command.text.options) {
    if (!option.IsPositional()) continue;
    const std::string name =
        fmt::format("\\fI{}\\fR{}", Roff(option.names.front()), option.is_list ? "..." : "");
    text += option.is_required ? name + "\n" : "[" + name + "]\n";
  }
  return text;
}

std::string Environment() {
  std::string text = ".SH ENVIRONMENT\n";
#define X(identifier, variable, default_value, meaning) \
  text += fmt::format(".TP\n.B {}\n{}\n", Roff(variable), Roff(meaning));
  ROLLCALL_ENVIRONMENT(X)
#undef X
  return text;
}

}  // namespace

std::string ManPage(const std::vector<NamedCommandText>& commands) {
  std::string page = Header("rollcall", "debugger for distributed jobs that hang");
  page +=
      ".SH SYNOPSIS\n.B rollcall\n\\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
      ".SH DESCRIPTION\n"
      "rollcall finds the rank that makes a distributed job hang, and its line of code.\n"
      "Each command has a page of its own.\n"
      ".SH COMMANDS\n";
  for (const NamedCommandText& command : commands) {
    page += fmt::format(".TP\n.BR rollcall\\-{} (1)\n{}\n", command.name, Roff(command.summary));
  }
  page +=
      ".SH OPTIONS\n"
      ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\n"
      "print the version, the commit and the versions of the formats\n"
      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nlist the commands\n"
      ".TP\n\\fBhelp\\fR \\fICOMMAND\\fR\ndescribe a command\n"
      ".TP\n\\fBhelp \\-\\-man\\fR \\fIDIR\\fR\nwrite these pages into a directory\n"
      ".TP\n\\fBhelp \\-\\-completion\\fR \\fIbash|zsh|fish\\fR\n"
      "print the completion for a shell\n";
  return page + Environment();
}

std::string ManPage(const NamedCommandText& command) {
  std::string page = Header(fmt::format("rollcall-{}", command.name), command.summary);
  page += Synopsis(command);
  page += fmt::format(".SH DESCRIPTION\n{}\n", Roff(command.text.description));
  if (!command.text.options.empty()) page += ".SH OPTIONS\n";
  for (const OptionText& option : command.text.options) page += Entry(option);
  constexpr std::string_view kExitCodes = "Exit codes: ";
  const std::string_view footer = command.text.footer;
  if (footer.starts_with(kExitCodes)) {
    page += fmt::format(".SH EXIT STATUS\n{}\n", Roff(footer.substr(kExitCodes.size())));
  } else if (!footer.empty()) {
    page += fmt::format(".PP\n{}\n", Roff(footer));
  }
  return page + ".SH SEE ALSO\n.BR rollcall (1)\n";
}

}  // namespace rollcall
