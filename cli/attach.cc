// rollcall attach: what a job waits for that was started without rollcall.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "collector/attach/cores.h"
#include "collector/attach/job_finder.h"
#include "collector/attach/judge.h"
#include "collector/attach/look.h"
#include "collector/attach/stack_tree.h"
#include "collector/attach/standing.h"
#include "collector/attach/variables.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/proc_source.h"
#include "collector/export/exporter.h"
#include "collector/import/add_sources.h"
#include "collector/launch/job_environment.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

using attach::FoundJob;
using attach::JobRank;

bool Holds(const FoundJob& job, pid_t pid) {
  const bool other = std::find(job.others.begin(), job.others.end(), pid) != job.others.end();
  return other || std::any_of(job.ranks.begin(), job.ranks.end(), [pid](const JobRank& rank) {
           return rank.pid == pid ||
                  std::find(rank.helpers.begin(), rank.helpers.end(), pid) != rank.helpers.end();
         });
}

std::vector<int32_t> RanksOf(const FoundJob& job) {
  std::vector<int32_t> ranks;
  for (const JobRank& rank : job.ranks) ranks.push_back(rank.rank);
  return ranks;
}

// "Open MPI, ranks 0-3 of 4: ./solver (processes 4711, 4712, …)"
std::string JobText(const FoundJob& job) {
  constexpr size_t kMostPids = 4;
  std::string pids;
  for (size_t i = 0; i < std::min(kMostPids, job.ranks.size()); ++i) {
    pids += fmt::format("{}{}", i == 0 ? "" : ", ", job.ranks[i].pid);
  }
  if (job.ranks.size() > kMostPids) pids += ", …";
  return fmt::format("{}, {}{}: {} (process{} {})", job.launcher, RanksPhrase(RanksOf(job)),
                     job.size > 0 ? fmt::format(" of {}", job.size) : "", job.ranks.front().name,
                     job.ranks.size() == 1 ? "" : "es", pids);
}

void PrintJobs(const attach::FoundJobs& found) {
  for (const FoundJob& job : found.jobs) fmt::print("{}\n", JobText(job));
}

// The job that is meant; null, and a line on stderr, if that is not clear.
const FoundJob* Choose(const attach::FoundJobs& found, int32_t pid) {
  if (found.jobs.empty()) {
    std::string line = "no rank of a distributed job was found on this machine";
    if (found.hidden != 0) {
      line += fmt::format("; the environment of {} process{} may not be read (run it as root)",
                          found.hidden, found.hidden == 1 ? "" : "es");
    }
    PrintLine(line);
    return nullptr;
  }
  std::vector<const FoundJob*> fitting;
  for (const FoundJob& job : found.jobs) {
    if (pid == 0 || Holds(job, pid)) fitting.push_back(&job);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    PrintLine(
        fmt::format("process {} is no rank and starts none; `rollcall attach --list` shows "
                    "the jobs",
                    pid));
    return nullptr;
  }
  // A shell may have started several.
  PrintLine("there are several jobs; --pid chooses one, by one of its ranks:");
  for (const FoundJob* job : fitting) PrintLine("  " + JobText(*job));
  return nullptr;
}

// The only job of the cores in a directory, which the caller keeps; null, and lines on stderr, if
// there is none, or several.
const attach::CoreJob* ChooseCores(const std::string& directory, const attach::FoundCores& found,
                                   const std::string& error) {
  for (const std::string& problem : found.problems) PrintLine(problem);
  if (!error.empty()) PrintLine(error);
  if (found.jobs.size() == 1) return &found.jobs.front();
  if (found.jobs.empty()) {
    PrintLine(fmt::format("no core file of a rank of a distributed job is in {}", directory));
    return nullptr;
  }
  PrintLine(fmt::format("the cores in {} are of several jobs; give a directory with those of one:",
                        directory));
  for (const attach::CoreJob& job : found.jobs) PrintLine("  " + JobText(job.job));
  return nullptr;
}

void PrintTree(const attach::Standings& standings, StackDetail detail) {
  if (detail == StackDetail::kNone) return;
  const attach::StackNode root = StackTree(standings, detail == StackDetail::kFull);
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

int RunAttach(int argc, char** argv) {
  ArgumentParser parser(
      "Says what a job waits for that was started without rollcall, from the stacks of its ranks.",
      "rollcall attach");
  bool list = false;
  std::string core_directory;
  int32_t pid = 0;
  double between_s = 1;
  // A call that moves much data may take longer than a second.
  double confirm_s = 5;
  bool no_locals = false;
  Outputs outputs;
  TextStyle style;
  parser.Add("--list", &list, "only list this user's distributed jobs on this machine");
  parser.Add("--pid", &pid, "the job of this process: a rank, a child of one, or the launcher",
             {.type = "PID", .must = Must::kBePositive});
  parser.Add("--core", &core_directory,
             "instead of a job that runs, that whose ranks left core files in this directory",
             {.type = "DIR", .must = Must::kBeDirectory, .excludes = "--pid"});
  parser.Add(
      "--between", &between_s, "time between the two looks at a rank",
      {.type = "SECONDS", .must = Must::kBePositive, .show_default = true, .excludes = "--core"});
  parser.Add(
      "--confirm", &confirm_s,
      "after a finding, look twice again with this time between, and believe that; 0: do not",
      {.type = "SECONDS",
       .must = Must::kBeNonNegative,
       .show_default = true,
       .excludes = "--core"});
  parser.Add("--no-locals", &no_locals, "do not read the integers of Python frames");
  outputs.AddOptions(&parser, Outputs::StandardOutput::kOurs);
  style.AddOptions(&parser);
  parser.SetFooter("Exit codes: 0 nothing found, 1 findings, 2 usage, or no job.");
  if (const auto code = parser.Parse(argc, argv)) return *code;

  attach::Standings standings;
  Report report;
  const auto judge = [&](const FoundJob& job, const std::string& host,
                         const std::vector<attach::ObservedRank>& observed) {
    standings = attach::StandingsOf(job, host, observed);
    AddSources(&standings.trace);
    report = attach::Judge(job, standings);
  };
  if (!core_directory.empty()) {
    RaiseFileLimit();  // each core and each module takes a descriptor
    std::string error;
    const attach::FoundCores found = attach::FindCores(core_directory, &error);
    if (list && !found.jobs.empty()) {
      for (const attach::CoreJob& job : found.jobs) fmt::print("{}\n", JobText(job.job));
      return kNothingFound;
    }
    const attach::CoreJob* job = ChooseCores(core_directory, found, error);
    if (job == nullptr) return kUsage;
    std::vector<std::string> problems;
    judge(job->job, "", attach::LookAtCores(*job, !no_locals, &problems));
    for (const std::string& problem : problems) PrintLine(problem);
  } else {
    const ProcSource proc;
    const attach::FoundJobs found = attach::FindJobs(proc, geteuid());
    if (list && !found.jobs.empty()) {
      PrintJobs(found);
      return kNothingFound;
    }
    const FoundJob* job = Choose(found, pid);
    if (job == nullptr) return kUsage;
    const auto look = [&](double between) {
      const auto wait = std::chrono::milliseconds(static_cast<int64_t>(between * 1e3));
      judge(*job, HostName(),
            attach::LookTwice(proc, *job, {.between = wait, .integers = !no_locals}));
    };
    look(between_s);
    if (!report.findings.empty() && confirm_s > between_s) look(confirm_s);
  }

  TextOptions text = style.For(STDOUT_FILENO);
  const StackDetail detail = text.stacks;
  text.stacks = StackDetail::kNone;  // the tree has them
  const DiagnoseOptions diagnose;
  const Subject subject = {.trace = standings.trace,
                           .report = report,
                           .diagnose = diagnose,
                           .judgement = JudgeAll(report),
                           .text = text,
                           .source_root = outputs.SourceRoot(),
                           .version = ROLLCALL_VERSION};
  if (!outputs.ToStandardOutput()) {
    ExportText(subject, std::cout);
    std::cout.flush();
    PrintTree(standings, detail);
  }
  if (!outputs.Write(subject)) return kUsage;
  return subject.judgement.Fails() ? kFindings : kNothingFound;
}

}  // namespace rollcall
