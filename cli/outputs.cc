// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/argument_parser.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"

namespace rollcall {
namespace {

std::string Kinds(std::string_view separator) {
  std::string kinds;
  for (const Exporter& exporter : kExporters) {
    if (!kinds.empty()) kinds += separator;
    kinds += exporter.kind;
  }
  return kinds;
}

bool Fail(const std::string& path) {
  PrintLine(fmt::format("{}: {}", path, std::strerror(errno)));
  return false;
}

bool ToFile(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  // A pipe, a terminal or /dev/stderr must not be replaced by a file.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return WriteWholeFile(path, text) || Fail(path);
  }
  // Write under another name first: a program that waits for the file never sees a partial one.
  const std::string partial = path + ".partial";
  if (!WriteWholeFile(partial, text) || rename(partial.c_str(), path.c_str()) != 0)
    return Fail(path);
  return true;
}

bool ToStandardOutputOf(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return (written && std::fflush(stdout) == 0) || Fail("standard output");
}

}  // namespace

Result<Output> ParseOutput(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view kind = text.substr(0, equals);
  Output output{.exporter = FindExporter(kind), .path = {}};
  if (output.exporter == nullptr) {
    return Error{fmt::format("no output '{}'; there are {}", kind, Kinds(", "))};
  }
  output.path = equals == std::string_view::npos ? kStandardOutput : text.substr(equals + 1);
  if (output.path.empty()) return Error{fmt::format("'{}' does not name a file", text)};
  return output;
}

void Outputs::AddOptions(ArgumentParser* parser, StandardOutput standard_output) {
  const bool ours = standard_output == StandardOutput::kOurs;
  std::vector<std::string> kinds;
  std::string help = ours
                         ? "also write this format, to PATH or to standard output; may be repeated."
                         : "also write this format; may be repeated.";
  for (const Exporter& exporter : kExporters) {
    help += fmt::format("\n{}: {}", exporter.kind, exporter.help);
    kinds.push_back(fmt::format("{}=", exporter.kind));
  }
  parser->Add("--output", &texts_, help,
              {.type = ours ? "KIND[=PATH]" : "KIND=PATH", .offered = kinds, .one_per_use = true});
  parser->Add("--json", &json_, "the same as --output json=FILE",
              {.type = ours ? "FILE|-" : "FILE"});
  parser->Add("--source-root", &source_root_,
              "name source files relative to this directory where a service looks them up "
              "(default: where CI checked out, else the current directory)",
              {.type = "DIR", .must = Must::kBeDirectory});
  parser->AddCheck("--output", [this, ours] { return Choose(ours); });
}

std::string Outputs::Choose(bool standard_output_is_ours) {
  std::vector<std::string> texts = texts_;
  if (!json_.empty()) texts.push_back("json=" + json_);
  list_.clear();
  for (const std::string& text : texts) {
    const Result<Output> output = ParseOutput(text);
    if (!output) return output.error();
    const bool standard = output->path == kStandardOutput;
    if (standard && !standard_output_is_ours)
      return "standard output belongs to the job: name a file";
    if (standard && ToStandardOutput()) return "only one output may go to standard output";
    list_.push_back(*output);
  }
  return "";
}

bool Outputs::ToStandardOutput() const {
  return std::ranges::any_of(list_,
                             [](const Output& output) { return output.path == kStandardOutput; });
}

std::string Outputs::SourceRoot() const {
  std::filesystem::path root = source_root_;
  for (const char* name : kCheckoutVariables) {
    const char* value = getenv(name);
    if (root.empty() && value != nullptr) root = value;
  }
  std::error_code error;
  const std::filesystem::path absolute =
      root.empty() ? std::filesystem::current_path(error) : std::filesystem::absolute(root, error);
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

Subject Outputs::Describe(const Trace& trace, const Report& report, const DiagnoseOptions& diagnose,
                          TextOptions text) const {
  return {.trace = trace,
          .report = report,
          .diagnose = diagnose,
          .judgement = JudgeAll(report),
          .text = std::move(text),
          .source_root = SourceRoot(),
          .version = ROLLCALL_VERSION};
}

std::map<std::string, std::string> Outputs::Variables() const {
  std::map<std::string, std::string> variables;
  for (const Output& output : list_) {
    std::string name = "ROLLCALL_OUTPUT_";
    for (const char c : output.exporter->kind) name += static_cast<char>(std::toupper(c));
    variables[name] = std::filesystem::absolute(output.path).string();
  }
  return variables;
}

bool Outputs::Write(const Subject& subject) const {
  bool all = true;
  for (const Output& output : list_) {
    std::ostringstream text;
    output.exporter->write(subject, text);
    all &= output.path == kStandardOutput ? ToStandardOutputOf(text.str())
                                          : ToFile(output.path, text.str());
  }
  return all;
}

}  // namespace rollcall
