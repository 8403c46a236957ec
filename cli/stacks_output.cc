#include "cli/stacks_output.h"

#include <fmt/core.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "collector/attach/rank_stacks.h"
#include "collector/attach/variables.h"
#include "collector/diagnosis/graph/options.h"
#include "collector/export/exporter.h"
#include "collector/report/stack_tree.h"

namespace rollcall {
namespace {

void PrintTree(const attach::Standings& standings, StackDetail detail) {
  if (detail == StackDetail::kNone) return;
  const StackNode root = StackTree(RankStacks(standings), detail == StackDetail::kFull);
  fmt::print("\n  stacks\n");
  for (const std::string& line : StackTreeLines(root)) fmt::print("    {}\n", line);
  const std::vector<attach::ComparedVariable> variables = CompareVariables(standings);
  if (variables.empty()) return;
  fmt::print("\n  variables that differ\n");
  for (const attach::ComparedVariable& variable : variables) {
    fmt::print("    {}\n", VariableText(variable));
  }
}

}  // namespace

int PrintStacks(const attach::JudgedStacks& judged, const Outputs& outputs, TextOptions text,
                const attach::Recorded* records) {
  const StackDetail detail = text.stacks;
  text.stacks = StackDetail::kNone;  // the tree has them
  const DiagnoseOptions none;
  const Subject subject =
      records != nullptr
          ? outputs.Describe(records->inputs.trace, records->report, records->options,
                             std::move(text))
          : outputs.Describe(judged.standings.trace, judged.report, none, std::move(text));
  if (!outputs.ToStandardOutput()) {
    ExportText(subject, std::cout);
    std::cout.flush();
    PrintTree(judged.standings, detail);
  }
  if (!outputs.Write(subject)) return kUsage;
  return subject.judgement.Fails() ? kFindings : kNothingFound;
}

}  // namespace rollcall
