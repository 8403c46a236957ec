// SPDX-License-Identifier: Apache-2.0
// `--output KIND[=PATH]`: parsing and writing, for every command that has this option.
#ifndef ROLLCALL_CLI_OUTPUTS_H_
#define ROLLCALL_CLI_OUTPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/argument_parser.h"
#include "collector/base/result.h"
#include "collector/export/exporter.h"

namespace rollcall {

inline constexpr std::string_view kStandardOutput = "-";

struct Output {
  const Exporter* exporter = nullptr;
  std::string path;  // or kStandardOutput
  bool operator==(const Output&) const = default;
};

// KIND[=PATH], with a known KIND.
Result<Output> ParseOutput(std::string_view text);

// The outputs that a command line requests. Not thread-safe.
class Outputs {
 public:
  // The owner of standard output. kJob: a job writes there, so every output needs a path.
  enum class StandardOutput : uint8_t { kOurs, kJob };

  // Adds --output, --json (short for --output json=) and --source-root. At most one output may go
  // to standard output. This object must not move until `parser` has parsed.
  void AddOptions(ArgumentParser* parser, StandardOutput standard_output);

  bool ToStandardOutput() const;
  bool empty() const { return list_.empty(); }
  // The directory to which file names are relative: --source-root, else CI's checkout directory,
  // else the current directory. Absolute.
  std::string SourceRoot() const;

  // The input of an exporter, for a report that was made with `diagnose`. Refers to the first three
  // arguments.
  Subject Describe(const Trace& trace, const Report& report, const DiagnoseOptions& diagnose,
                   TextOptions text) const;
  // The files as variables for a command: ROLLCALL_OUTPUT_<KIND>, an absolute path.
  std::map<std::string, std::string> Variables() const;
  // Writes all outputs. A file appears under its name only when it is complete. Returns false,
  // after a line on stderr for each failure, if some could not be written.
  bool Write(const Subject& subject) const;

 private:
  // Fills list_ from the parsed options. Returns the problem with the options, or "".
  std::string Choose(bool standard_output_is_ours);

  std::vector<std::string> texts_;
  std::string json_;
  std::string source_root_;
  std::vector<Output> list_;
};

// The environment variables with which CI services name the checkout directory.
inline constexpr const char* kCheckoutVariables[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_OUTPUTS_H_
