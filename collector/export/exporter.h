// SPDX-License-Identifier: Apache-2.0
// Output formats of verdicts and traces; exporters.def lists them. An exporter is a pure function
// from a Subject to text. It opens no files.
#ifndef ROLLCALL_COLLECTOR_EXPORT_EXPORTER_H_
#define ROLLCALL_COLLECTOR_EXPORT_EXPORTER_H_

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "collector/check/judgement.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/report/text_report.h"

namespace rollcall {

// The input of an exporter. Refers to the trace, the report and the options, which must outlive it.
struct Subject {
  const Trace& trace;  // symbolized: the frames of Trace::codes are the symbols
  const Report& report;
  // The options that `report` was made with: Analyze(trace, diagnose) gives the analysis of
  // `report`.
  const DiagnoseOptions& diagnose;
  Judgement judgement;  // which findings count
  TextOptions text;     // style of the text; `color` only for a terminal
  // Absolute path, without a trailing slash. Formats whose reader looks up files in a repository
  // name files below this path relative to it; see RelativeTo(). Empty: all names stay as they are.
  std::string source_root;
  std::string version;  // rollcall's version
};

// Writes the whole output. Errors of `out` are left in its state for the caller.
using ExportFunction = void (*)(const Subject& subject, std::ostream& out);

#define EXPORTER(kind, function, help) void function(const Subject& subject, std::ostream& out);
#include "collector/export/exporters.def"
#undef EXPORTER

struct Exporter {
  std::string_view kind;
  ExportFunction write;
  std::string_view help;
};

inline constexpr auto kExporters = std::to_array<Exporter>({
#define EXPORTER(kind, function, help) {#kind, function, help},
#include "collector/export/exporters.def"
#undef EXPORTER
});

// nullptr if no exporter has that kind.
constexpr const Exporter* FindExporter(std::string_view kind) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.kind == kind) return &exporter;
  }
  return nullptr;
}

// Returns `file` relative to `root` if `file` is below `root`; otherwise returns `file` unchanged.
std::string RelativeTo(const std::string& root, const std::string& file);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_EXPORTER_H_
