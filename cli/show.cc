// rollcall show: the evidence behind a verdict, aligned.
#include "collector/report/show.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/inputs.h"
#include "collector/base/print_line.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/graph/aligned_trace.h"
#include "collector/import/load_inputs.h"

namespace rollcall {

int RunShow(int argc, char** argv) {
  CLI::App app(
      "Shows what the ranks called. Without options: under each number of the communicators that "
      "the verdict is about, or where ranks are apart.",
      "rollcall show");
  std::vector<std::string> inputs;
  TableOptions table;
  int32_t rank = -1;
  size_t last = 20;
  std::vector<int32_t> difference;
  AddInputs(&app, &inputs);
  app.add_option("--communicator", table.communicator, "only the one of this name, or part of it");
  app.add_option("--sequence", table.sequence, "the number in the middle (default: the verdict's)")
      ->check(CLI::PositiveNumber);
  app.add_option("--around", table.around, "so many numbers, or calls, before and after it")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  CLI::Option* of_rank =
      app.add_option("--rank", rank, "the last calls of this rank")->check(CLI::NonNegativeNumber);
  app.add_option("--last", last, "with --rank: so many")
      ->needs(of_rank)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--diff", difference, "two ranks' calls side by side, to the first difference")
      ->expected(2)
      ->type_name("RANK RANK")
      ->check(CLI::NonNegativeNumber)
      ->excludes(of_rank);
  app.footer("Exit codes: 0 shown, 2 usage, unreadable input or nothing of that name.");
  if (const auto code = ParseArguments(app, argc, argv)) return *code;

  Trace trace = LoadInputs(inputs).trace;
  PrintProblems(trace.problems);
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
                      : rank >= 0 ? ShowRank(analysis, rank, last)
                                  : ShowTable(analysis, Diagnose(trace, options), table);
  if (!shown.error.empty()) {
    PrintLine(shown.error);
    return kUsage;
  }
  fmt::print("{}", shown.text);
  return kNothingFound;
}

}  // namespace rollcall
