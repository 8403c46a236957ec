// `--output KIND[=PATH]`: parsed and written here for every command that offers it.
#ifndef ROLLCALL_CLI_OUTPUTS_H_
#define ROLLCALL_CLI_OUTPUTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/argument_parser.h"
#include "collector/export/exporter.h"

namespace rollcall {

inline constexpr std::string_view kStandardOutput = "-";

struct Output {
  const Exporter* exporter = nullptr;
  std::string path;  // or kStandardOutput
  bool operator==(const Output&) const = default;
};

// False, with the reason in `problem`, if the text is not KIND[=PATH] with a known KIND.
bool ParseOutput(std::string_view text, Output* output, std::string* problem);

// What a command line asked for. Not thread-safe.
class Outputs {
 public:
  // Whose standard output it is. kJob: of a job that is still writing there, so that every output
  // needs a path.
  enum class StandardOutput : uint8_t { kOurs, kJob };

  // Adds --output, --json (short for --output json=) and --source-root. At most one output may go
  // to standard output. This object must stay where it is until `parser` has parsed.
  void AddOptions(ArgumentParser* parser, StandardOutput standard_output);

  bool ToStandardOutput() const;
  bool empty() const { return list_.empty(); }
  // What files are named relative to: --source-root, else where CI checked out, else the current
  // directory. Absolute.
  std::string SourceRoot() const;

  // What an exporter takes, of a report that was made with `diagnose`. Refers to the first three.
  Subject Describe(const Trace& trace, const Report& report, const DiagnoseOptions& diagnose,
                   TextOptions text) const;
  // Writes all of them; a file appears under its name when it is whole. False, after a line on
  // stderr for each, if some could not be written.
  bool Write(const Subject& subject) const;

 private:
  // Fills list_ from what was parsed. What is wrong with it, or "".
  std::string Choose(bool standard_output_is_ours);

  std::vector<std::string> texts_;
  std::string json_;
  std::string source_root_;
  std::vector<Output> list_;
};

// The environment variables in which CI services say where the repository lies.
inline constexpr const char* kCheckoutVariables[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_OUTPUTS_H_
