// SPDX-License-Identifier: Apache-2.0
#include "cli/stacks_output.h"

#include <fmt/core.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/inputs.h"
#include "collector/attach/rank_stacks.h"
#include "collector/attach/stacks.h"
#include "collector/base/print_line.h"
#include "collector/diagnosis/graph/options.h"
#include "collector/diagnosis/graph/variables.h"
#include "collector/export/exporter.h"
#include "collector/report/stack_tree.h"

namespace rollcall {

std::optional<attach::JobStacks> OnlyJob(const std::vector<attach::HostStacks>& hosts,
                                         std::string_view none, std::string_view several) {
  std::vector<attach::JobStacks> jobs = attach::JoinHosts(hosts);
  if (jobs.size() == 1) return std::move(jobs.front());
  PrintLine(jobs.empty() ? none : several);
  for (const attach::JobStacks& job : jobs) PrintLine("  " + attach::JobText(job.job));
  return std::nullopt;
}

std::optional<attach::JudgedStacks> JudgeLoaded(const Inputs& loaded) {
  std::vector<attach::HostStacks> hosts;
  std::vector<Problem> problems;
  for (const StacksText& text : loaded.stacks) {
    hosts.push_back(attach::ReadStacks(text.text, text.source, &problems));
  }
  PrintProblems(problems);
  attach::SymbolizeHere(&hosts);
  const std::optional<attach::JobStacks> job =
      OnlyJob(hosts, "no rank's stack could be read",
              "these are stacks of several jobs: give those of one job");
  if (!job) return std::nullopt;
  return attach::JudgeStacks(*job);
}

void PrintTree(const Trace& trace, bool full) {
  const StackNode root = StackTree(attach::RankStacks(trace), full);
  fmt::print("  stacks\n");
  for (const std::string& line : StackTreeLines(root)) fmt::print("    {}\n", line);
  const std::vector<ComparedVariable> variables = CompareVariables(trace);
  if (variables.empty()) return;
  fmt::print("\n  variables that differ\n");
  for (const ComparedVariable& variable : variables) {
    fmt::print("    {}\n", VariableText(variable));
  }
}

int PrintStacks(const attach::JudgedStacks& judged, const Outputs& outputs, TextOptions text,
                const attach::Recorded* records) {
  const StackDetail detail = text.stacks;
  text.stacks = StackDetail::kNone;  // the tree shows them
  const DiagnoseOptions none;
  const Subject subject =
      records != nullptr ? outputs.Describe(records->inputs.trace, records->report,
                                            records->options, std::move(text))
                         : outputs.Describe(judged.trace, judged.report, none, std::move(text));
  if (!outputs.ToStandardOutput()) {
    ExportText(subject, std::cout);
    std::cout.flush();
    if (detail != StackDetail::kNone) {
      fmt::print("\n");
      PrintTree(judged.trace, detail == StackDetail::kFull);
    }
  }
  if (!outputs.Write(subject)) return kUsage;
  return subject.judgement.Fails() ? kFindings : kNothingFound;
}

}  // namespace rollcall
