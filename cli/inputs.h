// SPDX-License-Identifier: Apache-2.0
// Shared by the commands that read traces: positional arguments and the printing of problems.
#ifndef ROLLCALL_CLI_INPUTS_H_
#define ROLLCALL_CLI_INPUTS_H_

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "collector/base/print_line.h"
#include "collector/model/trace.h"

namespace rollcall {

inline void AddInputs(ArgumentParser* parser, std::vector<std::string>* inputs) {
  parser->Add(
      "input", inputs,
      "run directories, bundles, ring files, journals, PyTorch Flight Recorder dumps, logs of the "
      "job; - is a log on standard input",
      {.type = "DIR|FILE", .must = Must::kExist, .required = true});
}

// Prints each problem on one line of stderr.
inline void PrintProblems(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    const std::string where = problem.source.empty() ? "" : problem.source + ": ";
    const std::string offset =
        problem.offset < 0 ? "" : fmt::format("at byte {}: ", problem.offset);
    PrintLine(fmt::format("{}{}{}", where, offset, problem.message));
  }
}

}  // namespace rollcall

#endif  // ROLLCALL_CLI_INPUTS_H_
