// What is written of a job besides the screen: exporters.def lists the forms. An exporter is a pure
// function from a Subject to text; who opens files, and which, is none of its business.
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

// Everything that there is to export. Refers to the trace and the report, which must outlive it.
struct Subject {
  const Trace& trace;  // symbolized: the frames of Trace::codes are the symbols
  const Report& report;
  // The options that `report` was made with: Settle(trace, diagnose) gives what it rests on.
  const DiagnoseOptions& diagnose;
  Judgement judgement;  // what counts of the report
  TextOptions text;     // how a person wants it; `color` only where a terminal reads
  // Absolute, without a slash at its end. Files below it are named relative to it where a service
  // looks them up in a repository; see RelativeTo(). Empty: none is.
  std::string source_root;
  std::string version;  // rollcall's own
};

// Writes all of it. Problems of `out` are left in its state for the caller.
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

// nullptr if there is none of that kind.
constexpr const Exporter* FindExporter(std::string_view kind) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.kind == kind) return &exporter;
  }
  return nullptr;
}

// `file` without `root` in front of it, where it lies below; else as it is.
std::string RelativeTo(const std::string& root, const std::string& file);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_EXPORTER_H_
