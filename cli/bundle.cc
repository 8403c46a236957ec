// SPDX-License-Identifier: Apache-2.0
// rollcall bundle: packs the traces of a job into one file, which `rollcall analyze` reads on any
// machine.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "collector/base/print_line.h"
#include "collector/collect/collect.h"
#include "collector/launch/job_environment.h"

namespace rollcall {

int RunBundle(int argc, char** argv) {
  ArgumentParser parser("Packs the traces of a job into one file that analyze and show read.",
                        "rollcall bundle");
  std::vector<std::string> inputs;
  std::string output;
  collect::CollectOptions options;
  AddInputs(&parser, &inputs);
  parser.Add("-o,--output", &output, "the file to write, for example hang.tar.zst",
             {.type = "FILE", .required = true});
  parser.Add("--sources", &options.sources,
             "also keep the source lines around the calls, for a machine without the sources");
  parser.SetFooter("Exit codes: 0 written, 2 usage, unreadable input or not written.");
  if (const auto code = parser.Parse(argc, argv)) return *code;

  options.rollcall_version = ROLLCALL_VERSION;
  options.environment = CurrentEnvironment();
  const collect::Collected collected = collect::Collect(inputs, output, options);
  PrintProblems(collected.problems);
  if (!collected.written) {
    PrintLine(fmt::format("{}: {}", output, collected.error));
    return kUsage;
  }
  const auto percent = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  fmt::print("{}: the traces of {} ranks in {} KiB, {:.1f}% of {} KiB\n", output,
             collected.rings + collected.dumps, (collected.packed_bytes + 1023) / 1024,
             percent(collected.packed_bytes, collected.trace_bytes), collected.trace_bytes / 1024);
  return kNothingFound;
}

}  // namespace rollcall
