// SPDX-License-Identifier: Apache-2.0
// rollcall show: prints the evidence behind a verdict, aligned across ranks.
#include "collector/report/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/stacks_output.h"
#include "collector/attach/job_stacks.h"
#include "collector/base/print_line.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/import/load_inputs.h"

namespace rollcall {
namespace {

int Print(const Shown& shown) {
  if (!shown.error.empty()) {
    PrintLine(shown.error);
    return kUsage;
  }
  fmt::print("{}", shown.text);
  return kNothingFound;
}

// Shows the stacks that `rollcall attach` took; there are no recorded calls. `rank` -1: all ranks,
// or the ranks in `only`.
int ShowStacks(const Inputs& loaded, int32_t rank, const std::vector<int32_t>& only) {
  std::optional<attach::JudgedStacks> judged = JudgeLoaded(loaded);
  if (!judged) return kUsage;
  Trace& trace = judged->trace;
  if (rank >= 0) return Print(ShowThreads(trace, rank));
  for (const int32_t wanted : only) {
    const Shown shown = ShowThreads(trace, wanted);
    if (!shown.error.empty()) return Print(shown);
  }
  for (Process& process : trace.processes) {
    const bool wanted = only.empty() || std::ranges::find(only, process.rank) != only.end();
    if (!wanted) process.place.reset();
  }
  PrintTree(trace, /*full=*/true);
  return kNothingFound;
}

}  // namespace

int RunShow(int argc, char** argv) {
  ArgumentParser parser(
      "Shows the calls of the ranks. Without options: by sequence number, on the communicators of "
      "the verdict or those on which ranks differ.",
      "rollcall show");
  std::vector<std::string> inputs;
  TableOptions table;
  int32_t rank = -1;
  size_t last = 20;
  std::vector<int32_t> difference;
  bool messages = false;
  bool values = false;
  AddInputs(&parser, &inputs);
  parser.Add("--communicator", &table.communicator,
             "only the communicator whose name contains this");
  parser.Add("--sequence", &table.sequence,
             "the sequence number in the middle (default: the verdict's)",
             {.must = Must::kBePositive});
  parser.Add("--around", &table.around,
             "the number of sequence numbers, or calls, before and after it",
             {.most = 100'000, .show_default = true});
  parser.Add("--rank", &rank, "the last calls of this rank", {.must = Must::kBeNonNegative});
  parser.Add("--last", &last, "with --rank: the number of calls",
             {.must = Must::kBePositive, .show_default = true, .needs = "--rank"});
  parser.Add("--diff", &difference,
             "the calls of two ranks side by side, up to the first difference",
             {.type = "RANK RANK", .must = Must::kBeNonNegative, .count = 2, .excludes = "--rank"});
  parser.Add("--messages", &messages,
             "the numbers of messages between ranks, with --rank: of this rank",
             {.excludes = "--diff,--sequence,--last"});
  parser.Add("--values", &values, "the last values of rollcall_value(), with --rank: of this rank",
             {.excludes = "--diff,--sequence,--last,--messages,--communicator"});
  parser.SetFooter("Exit codes: 0 shown, 2 usage, unreadable input or no match.");
  if (const auto code = parser.Parse(argc, argv)) return *code;

  Inputs loaded = LoadInputs(inputs);
  Trace& trace = loaded.trace;
  PrintProblems(trace.problems);
  if (trace.processes.empty() && !loaded.stacks.empty()) {
    if (table.communicator.empty() && table.sequence == 0 && !messages && !values) {
      return ShowStacks(loaded, rank, difference);
    }
    PrintLine("a file of stacks has no calls, communicators, messages, values or sequence numbers");
    return kUsage;
  }
  if (trace.processes.empty()) {
    PrintLine("no rank's trace could be read");
    return kUsage;
  }
  SymbolizeTrace(&trace);
  DiagnoseOptions options;
  options.job_ended = HasEnded(trace);
  const AlignedTrace analysis(trace, options);
  const Shown shown = !difference.empty()
                          ? ShowDifference(analysis, difference[0], difference[1], table.around)
                      : values    ? ShowValues(analysis, rank)
                      : messages  ? ShowMessages(analysis, table.communicator, rank)
                      : rank >= 0 ? ShowRank(analysis, rank, last)
                                  : ShowTable(analysis, Diagnose(trace, options), table);
  return Print(shown);
}

}  // namespace rollcall
