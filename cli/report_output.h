// SPDX-License-Identifier: Apache-2.0
// Output of verdicts while a job runs: text to stderr, other formats to files.
#ifndef ROLLCALL_CLI_REPORT_OUTPUT_H_
#define ROLLCALL_CLI_REPORT_OUTPUT_H_

#include <functional>
#include <mutex>
#include <string>

#include "cli/argument_parser.h"
#include "cli/outputs.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/report/text_report.h"

namespace rollcall {

// Style of the text.
struct TextStyle {
  std::string color = "auto";   // auto, always, never
  std::string stacks = "user";  // none, user, full

  // Adds --color and --stacks. This object must not move until `parser` has parsed.
  void AddOptions(ArgumentParser* parser);
  // Options for text that is written to `fd`. Source excerpts are read from disk.
  TextOptions For(int fd) const;
};

// Thread-safe.
class ReportOutput {
 public:
  struct Options {
    TextStyle style;
    Outputs outputs;
    DiagnoseOptions diagnose;  // of the reports of a running job
    bool keep_json = false;    // for Json()
  };
  explicit ReportOutput(Options options);

  // Writes the report to stderr with one write, so that lines of the job are not mixed in. Also
  // writes it to the files. `job_ended`: see DiagnoseOptions.
  void Print(const Trace& trace, const Report& report, bool job_ended);
  // Print() and Store() of the reports of a running job. This object must outlive the functions.
  using OnReport = std::function<void(const Trace&, const Report&)>;
  OnReport Printing();
  OnReport Storing();
  // The newest report in the format json; empty before the first report.
  std::string Json();
  // True if an output may show the whole trace, not only the findings.
  bool ShowsTraces() const { return !options_.outputs.empty(); }
  // Writes to the files only. `only_if_none`: does nothing if a report has been written.
  void Store(const Trace& trace, const Report& report, bool job_ended, bool only_if_none);

 private:
  void Write(const Trace& trace, const Report& report, bool job_ended);

  const Options options_;
  std::mutex mutex_;
  bool stored_ = false;
  std::string json_;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_REPORT_OUTPUT_H_
