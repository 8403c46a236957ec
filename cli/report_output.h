// Where verdicts go while a job runs: stderr for the person, files for programs.
#ifndef ROLLCALL_CLI_REPORT_OUTPUT_H_
#define ROLLCALL_CLI_REPORT_OUTPUT_H_

#include <mutex>
#include <string>

#include "cli/argument_parser.h"
#include "cli/outputs.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/report/text_report.h"

namespace rollcall {

// How a person wants the text.
struct TextStyle {
  std::string color = "auto";   // auto, always, never
  std::string stacks = "user";  // none, user, full

  // Adds --color and --stacks. This object must stay where it is until `parser` has parsed.
  void AddOptions(ArgumentParser* parser);
  // For text that goes to `fd`. Source excerpts are read from disk.
  TextOptions For(int fd) const;
};

// Thread-safe.
class ReportOutput {
 public:
  struct Options {
    TextStyle style;
    Outputs outputs;
    DiagnoseOptions diagnose;  // those of the reports to come, of a job that runs
  };
  explicit ReportOutput(Options options);

  // To stderr in one write, so that the job's own lines do not come between; and to the files.
  // `job_ended` as in DiagnoseOptions.
  void Print(const Trace& trace, const Report& report, bool job_ended);
  // Whether the whole trace may be shown, not only what was found.
  bool ShowsTraces() const { return !options_.outputs.empty(); }
  // To the files only; `only_if_none`: leaves a report that is there.
  void Store(const Trace& trace, const Report& report, bool job_ended, bool only_if_none);

 private:
  void Write(const Trace& trace, const Report& report, bool job_ended);

  const Options options_;
  std::mutex mutex_;
  bool stored_ = false;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_REPORT_OUTPUT_H_
