// Where verdicts go while a job runs: stderr for the person, a file for programs.
#ifndef ROLLCALL_CLI_REPORT_OUTPUT_H_
#define ROLLCALL_CLI_REPORT_OUTPUT_H_

#include <mutex>
#include <string>

#include "collector/diagnosis/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

// Thread-safe.
class ReportOutput {
 public:
  struct Options {
    std::string color = "auto";   // auto, always, never
    std::string json_file;        // empty: none
    std::string stacks = "user";  // none, user, full
  };
  explicit ReportOutput(Options options);

  // To stderr in one write, so that the job's own lines do not come between; and to the file.
  void Print(const Trace& trace, const Report& report);
  // To the file only; `only_if_none`: leaves a report that is there.
  void WriteJson(const Trace& trace, const Report& report, bool only_if_none);

 private:
  void Store(const Trace& trace, const Report& report);

  const Options options_;
  const bool color_;
  std::mutex mutex_;
  bool stored_ = false;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_REPORT_OUTPUT_H_
