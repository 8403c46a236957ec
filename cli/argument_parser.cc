// SPDX-License-Identifier: Apache-2.0
#include "cli/argument_parser.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <type_traits>
#include <utility>

#include "cli/command.h"

namespace rollcall {
namespace {

CLI::Option* AddTo(CLI::App* app, const std::string& names, Value value, const std::string& help) {
  return std::visit(
      [&](auto* typed) {
        if constexpr (std::is_same_v<decltype(typed), bool*>) {
          return app->add_flag(names, *typed, help);
        } else {
          return app->add_option(names, *typed, help);
        }
      },
      value);
}

void Require(CLI::Option* added, Must must) {
  switch (must) {
    case Must::kBeAnything:
      return;
    case Must::kBePositive:
      added->check(CLI::PositiveNumber);
      return;
    case Must::kBeNonNegative:
      added->check(CLI::NonNegativeNumber);
      return;
    case Must::kExist:
      added->check(CLI::ExistingPath | CLI::IsMember({"-"}));
      return;
    case Must::kBeDirectory:
      added->check(CLI::ExistingDirectory);
      return;
  }
}

template <typename T>
struct TypeOfValue {
  static constexpr bool is_flag = std::is_same_v<T, bool>;
  static constexpr bool is_list =
      std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<int32_t>>;
  static constexpr bool is_text =
      std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;
};

OptionText TextOf(const std::string& names, Value value, const std::string& help,
                  const OptionRules& rules) {
  OptionText text{.names = CLI::detail::split(names, ','), .help = help};
  text.offered = rules.one_of.empty() ? rules.offered : rules.one_of;
  text.is_required = rules.required;
  text.is_directory = rules.must == Must::kBeDirectory || rules.type == "DIR";
  text.is_file = rules.must == Must::kExist || rules.type.starts_with("FILE") ||
                 rules.type.starts_with("PATH");
  std::visit(
      [&]<typename T>(T* typed) {
        using Type = TypeOfValue<T>;
        text.is_list = Type::is_list;
        if constexpr (!Type::is_flag) text.value = Type::is_text ? "TEXT" : "NUMBER";
        if constexpr (!Type::is_flag && !Type::is_list) {
          if (rules.show_default) text.default_value = fmt::format("{}", *typed);
        }
      },
      value);
  if (!rules.one_of.empty()) text.value = CLI::detail::join(rules.one_of, "|");
  if (!rules.type.empty()) text.value = rules.type;
  return text;
}

CommandText* g_described = nullptr;  // not null during Describe()

}  // namespace

CommandText Describe(int (*command)(int argc, char** argv)) {
  CommandText described;
  g_described = &described;
  char name[] = "";
  char* arguments[] = {name, nullptr};
  command(1, arguments);
  g_described = nullptr;
  return described;
}

struct ArgumentParser::Parser {
  CLI::App app;
  CommandText text;
  std::vector<std::pair<std::string, std::function<std::string()>>> checks = {};  // by option
};

ArgumentParser::ArgumentParser(const std::string& description, std::string command)
    : parser_(new Parser{.app = CLI::App(description, std::move(command)),
                         .text = {.description = description}}) {
  parser_->text.options.push_back(
      {.names = {"-h", "--help"}, .help = "Print this help message and exit"});
  parser_->app.parse_complete_callback([this] {
    for (const auto& [name, check] : parser_->checks) {
      const std::string problem = check();
      if (!problem.empty()) throw CLI::ValidationError(name, problem);
    }
  });
}

ArgumentParser::~ArgumentParser() = default;

void ArgumentParser::Add(const std::string& names, Value value, const std::string& help,
                         const OptionRules& rules) {
  parser_->text.options.push_back(TextOf(names, value, help, rules));
  CLI::App& app = parser_->app;
  CLI::Option* added = AddTo(&app, names, value, help);
  if (!rules.type.empty()) added->type_name(rules.type);
  Require(added, rules.must);
  if (!rules.one_of.empty()) added->check(CLI::IsMember(rules.one_of));
  if (rules.most != 0) added->check(CLI::Range(uint64_t{0}, rules.most));
  if (rules.count != 0) added->expected(rules.count);
  if (rules.required) added->required();
  if (rules.show_default) added->capture_default_str();
  if (rules.comma_separated) added->delimiter(',');
  if (rules.one_per_use) added->allow_extra_args(false);
  if (!rules.needs.empty()) added->needs(app.get_option(rules.needs));
  for (const std::string& other : CLI::detail::split(rules.excludes, ',')) {
    if (!other.empty()) added->excludes(app.get_option(other));
  }
}

void ArgumentParser::StopAtFirstPositional() {
  parser_->app.positionals_at_end();
  parser_->text.runs_program = true;
}

void ArgumentParser::SetFooter(const std::string& text) {
  parser_->app.footer(text);
  parser_->text.footer = text;
}

void ArgumentParser::AddCheck(std::string name, std::function<std::string()> check) {
  parser_->checks.emplace_back(std::move(name), std::move(check));
}

std::optional<int> ArgumentParser::Parse(int argc, char** argv) {
  if (g_described != nullptr) {
    *g_described = std::move(parser_->text);
    return kNothingFound;
  }
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_error = error.get_exit_code() != 0;
    parser_->app.exit(error);
    return is_error ? kUsage : kNothingFound;
  }
  return std::nullopt;
}

}  // namespace rollcall
