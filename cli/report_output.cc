// SPDX-License-Identifier: Apache-2.0
#include "cli/report_output.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "collector/base/print_line.h"
#include "collector/report/text_report.h"
#include "collector/symbolize/source_excerpt.h"

namespace rollcall {
namespace {

// https://no-color.org: any value that is not empty switches colours off.
bool WantsColor(const std::string& choice, int fd) {
  if (choice != "auto") return choice == "always";
  const char* no_color = getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_color == nullptr || no_color[0] == '\0');
}

}  // namespace

void TextStyle::AddOptions(ArgumentParser* parser) {
  parser->Add("--color", &color, "auto, always or never",
              {.one_of = {"auto", "always", "never"}, .show_default = true});
  parser->Add("--stacks", &stacks,
              "call paths in the text: the user's own Python frames, all frames, or none",
              {.one_of = {"user", "full", "none"}, .show_default = true});
}

TextOptions TextStyle::For(int fd) const {
  TextOptions text;
  text.color = WantsColor(color, fd);
  text.stacks = StackDetailOf(stacks);
  text.excerpt = [](const std::string& file, const std::vector<int>& lines) {
    return ReadSourceExcerpt(file, lines);
  };
  return text;
}

ReportOutput::ReportOutput(Options options) : options_(std::move(options)) {}

void ReportOutput::Print(const Trace& trace, const Report& report, bool job_ended) {
  const std::lock_guard lock(mutex_);
  WriteAll(STDERR_FILENO, RenderText(trace, report, options_.style.For(STDERR_FILENO)));
  Write(trace, report, job_ended);
}

void ReportOutput::Store(const Trace& trace, const Report& report, bool job_ended,
                         bool only_if_none) {
  const std::lock_guard lock(mutex_);
  if (only_if_none && stored_) return;
  Write(trace, report, job_ended);
}

ReportOutput::OnReport ReportOutput::Printing() {
  return [this](const Trace& trace, const Report& report) {
    Print(trace, report, /*job_ended=*/false);
  };
}

ReportOutput::OnReport ReportOutput::Storing() {
  return [this](const Trace& trace, const Report& report) {
    Store(trace, report, /*job_ended=*/false, /*only_if_none=*/false);
  };
}

std::string ReportOutput::Json() {
  const std::lock_guard lock(mutex_);
  return json_;
}

void ReportOutput::Write(const Trace& trace, const Report& report, bool job_ended) {
  if (options_.outputs.empty() && !options_.keep_json) return;
  DiagnoseOptions diagnose = options_.diagnose;
  diagnose.job_ended = job_ended;
  TextOptions text = options_.style.For(-1);
  text.color = false;
  const Subject subject = options_.outputs.Describe(trace, report, diagnose, std::move(text));
  stored_ |= options_.outputs.Write(subject);
  if (options_.keep_json) {
    std::ostringstream json;
    FindExporter("json")->write(subject, json);
    json_ = json.str();
  }
}

}  // namespace rollcall
