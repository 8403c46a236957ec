#include "cli/report_output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "collector/report/json_report.h"
#include "collector/report/text_report.h"
#include "collector/symbolize/source_excerpt.h"

namespace rollcall {
namespace {

// https://no-color.org: any value that is not empty switches colours off.
bool WantsColor(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  const char* no_color = getenv("NO_COLOR");
  return isatty(STDERR_FILENO) == 1 && (no_color == nullptr || no_color[0] == '\0');
}

void WriteAll(int fd, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(fd, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    written += static_cast<size_t>(n);
  }
}

}  // namespace

ReportOutput::ReportOutput(Options options)
    : options_(std::move(options)), color_(WantsColor(options_.color)) {}

void ReportOutput::Print(const Trace& trace, const Report& report) {
  const std::lock_guard lock(mutex_);
  TextOptions text;
  text.color = color_;
  text.stacks = StackDetailOf(options_.stacks);
  text.excerpt = [](const std::string& file, const std::vector<int>& lines) {
    return ReadSourceExcerpt(file, lines);
  };
  WriteAll(STDERR_FILENO, RenderText(trace, report, text));
  Store(trace, report);
}

void ReportOutput::WriteJson(const Trace& trace, const Report& report, bool only_if_none) {
  const std::lock_guard lock(mutex_);
  if (only_if_none && stored_) return;
  Store(trace, report);
}

// Under another name first: a program that waits for the file never sees half of it.
void ReportOutput::Store(const Trace& trace, const Report& report) {
  if (options_.json_file.empty()) return;
  const std::string partial = options_.json_file + ".partial";
  std::ofstream file(partial, std::ios::trunc);
  file << RenderJson(trace, report);
  file.close();
  if (!file || rename(partial.c_str(), options_.json_file.c_str()) != 0) {
    fmt::print(stderr, "rollcall: cannot write {}: {}\n", options_.json_file, strerror(errno));
    return;
  }
  stored_ = true;
}

}  // namespace rollcall
