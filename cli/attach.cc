// rollcall attach: what a job waits for that was started without rollcall.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/attach_bundle.h"
#include "cli/attach_nodes.h"
#include "cli/attach_records.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "cli/stacks_output.h"
#include "collector/attach/cores.h"
#include "collector/attach/job_finder.h"
#include "collector/attach/job_stacks.h"
#include "collector/attach/look.h"
#include "collector/attach/records.h"
#include "collector/attach/stacks.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/proc_source.h"
#include "collector/base/text.h"
#include "collector/launch/job_environment.h"
#include "collector/live/ptrace_permission.h"

namespace rollcall {
namespace {

using attach::FoundJob;
using attach::HostStacks;
using attach::JobRank;
using attach::JobStacks;
using attach::JobText;

bool Holds(const FoundJob& job, pid_t pid) {
  const bool other = std::find(job.others.begin(), job.others.end(), pid) != job.others.end();
  return other || std::any_of(job.ranks.begin(), job.ranks.end(), [pid](const JobRank& rank) {
           return rank.pid == pid ||
                  std::find(rank.helpers.begin(), rank.helpers.end(), pid) != rank.helpers.end();
         });
}

void PrintJobs(const attach::FoundJobs& found) {
  for (const FoundJob& job : found.jobs) fmt::print("{}\n", JobText(job));
}

struct Choice {
  const FoundJob* job = nullptr;      // null: it is not clear which one is meant
  std::vector<std::string> why = {};  // for a person, by lines
};

// Why that process is in no job.
std::string NoRankText(const ProcSource& proc, pid_t pid) {
  struct stat process {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0) {
    return fmt::format("there is no process {}", pid);
  }
  if (geteuid() != 0 && process.st_uid != geteuid()) return ExplainPtraceDenied(proc, pid);
  return fmt::format(
      "process {} is no rank and starts none; `rollcall attach --list` shows the jobs", pid);
}

// By a process of it, 0: any; and by its name or that of its program, empty: any.
Choice Choose(const ProcSource& proc, const attach::FoundJobs& found, pid_t pid,
              const std::string& name) {
  if (found.jobs.empty() && pid != 0) return {.why = {NoRankText(proc, pid)}};
  if (found.jobs.empty()) {
    std::string line = "no rank of a distributed job was found on this machine";
    if (geteuid() != 0) {
      line += fmt::format(" among the processes of user id {} (root sees those of all)", geteuid());
    }
    if (found.hidden != 0) {
      line += fmt::format("; the environment of {} process{} may not be read{}", found.hidden,
                          found.hidden == 1 ? "" : "es", geteuid() == 0 ? "" : " (root may)");
    }
    return {.why = {line}};
  }
  std::vector<const FoundJob*> fitting;
  for (const FoundJob& job : found.jobs) {
    const bool named = name.empty() || job.job == name || job.ranks.front().name == name;
    if (named && (pid == 0 || Holds(job, pid))) fitting.push_back(&job);
  }
  if (fitting.size() == 1) return {.job = fitting.front()};
  if (fitting.empty() && pid != 0) return {.why = {NoRankText(proc, pid)}};
  if (fitting.empty()) return {.why = {fmt::format("there is no job '{}'", CleanText(name, 256))}};
  // A shell may have started several.
  Choice none = {
      .why = {"there are several jobs; --pid chooses one, by one of its ranks, and --job "
              "by its program:"}};
  for (const FoundJob* job : fitting) none.why.push_back("  " + JobText(*job));
  return none;
}

// On this machine. `absent` says why if it is not clear of which job.
HostStacks LookHere(const ProcSource& proc, const Choice& choice,
                    const attach::LookOptions& options) {
  HostStacks host = {.host = HostName(), .taken_at_ns = Now(CLOCK_REALTIME)};
  if (choice.job == nullptr) {
    for (const std::string& line : choice.why) host.absent += line;
    return host;
  }
  host.job = *choice.job;
  host.ranks = attach::LookTwice(proc, host.job, options);
  return host;
}

// Of the one job that left cores in a directory. Nothing, after lines on stderr, if there is not
// one.
std::optional<HostStacks> LookAtCoresOf(const std::string& directory,
                                        const attach::FoundCores& found, bool integers) {
  for (const std::string& problem : found.problems) PrintLine(problem);
  if (found.jobs.empty()) {
    PrintLine(fmt::format("no core file of a rank of a distributed job is in {}", directory));
    return std::nullopt;
  }
  if (found.jobs.size() > 1) {
    PrintLine(fmt::format(
        "the cores in {} are of several jobs; give a directory with those of one:", directory));
    for (const attach::CoreJob& job : found.jobs) PrintLine("  " + JobText(job.job));
    return std::nullopt;
  }
  const attach::CoreJob& job = found.jobs.front();
  std::vector<std::string> problems;
  // No core tells its host.
  HostStacks host = {.host = "", .taken_at_ns = Now(CLOCK_REALTIME), .job = job.job};
  host.ranks = attach::LookAtCores(job, integers, &problems);
  for (const std::string& problem : problems) PrintLine(problem);
  return host;
}

// The one job that the hosts see ranks of. Nothing, after lines on stderr, if there is not one.
std::optional<JobStacks> TheJob(const std::vector<HostStacks>& hosts) {
  std::vector<JobStacks> jobs = attach::JoinHosts(hosts);
  if (jobs.size() == 1) return std::move(jobs.front());
  if (jobs.empty()) {
    PrintLine("no host shows a rank of a distributed job");
    for (const HostStacks& host : hosts) PrintLine(fmt::format("{}: {}", host.host, host.absent));
  } else {
    PrintLine("the hosts show several jobs; --job chooses one, by its program:");
    for (const JobStacks& job : jobs) PrintLine("  " + JobText(job.job));
  }
  return std::nullopt;
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
  bool flight_recorder = false;
  std::string job_name;
  AttachNodes nodes;
  AttachBundle bundle;
  Outputs outputs;
  TextStyle style;
  parser.Add("--pid", &pid, "the job of this process: a rank, a child of one, or the launcher",
             {.type = "PID", .must = Must::kBePositive});
  parser.Add("--job", &job_name, "the job of this name, or whose program has it", {.type = "NAME"});
  nodes.AddOptions(&parser);
  parser.Add("--list", &list, "only list this user's distributed jobs on this machine",
             {.excludes = "--hosts,--slurm"});
  parser.Add(
      "--core", &core_directory,
      "instead of a job that runs, that whose ranks left core files in this directory",
      {.type = "DIR", .must = Must::kBeDirectory, .excludes = "--pid,--hosts,--slurm,--job"});
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
  parser.Add("--flight-recorder", &flight_recorder,
             "have PyTorch's Flight Recorder write a dump in each rank, and read it; needs "
             "TORCH_NCCL_DEBUG_INFO_PIPE_FILE in the job's environment",
             {.excludes = "--core"});
  parser.Add("--bundle", &bundle.path,
             "write what was seen into this file, which analyze reads anywhere (docs/bundle.md)",
             {.type = "FILE"});
  parser.Add("--bundle-sources", &bundle.sources,
             "with --bundle: keep the lines of source around the calls, too",
             {.needs = "--bundle"});
  outputs.AddOptions(&parser, Outputs::StandardOutput::kOurs);
  style.AddOptions(&parser);
  parser.SetFooter("Exit codes: 0 nothing found, 1 findings, 2 usage, or no job.");
  if (const auto code = parser.Parse(argc, argv)) return *code;

  const ProcSource proc;
  const auto here = [&](double between) {
    const auto wait = std::chrono::milliseconds(static_cast<int64_t>(between * 1e3));
    return attach::LookOptions{.between = wait, .integers = !no_locals, .after_first = {}};
  };
  if (nodes.IsNode()) {
    return nodes.Answer([&] {
      const attach::FoundJobs found = attach::FindJobs(proc, geteuid(), nodes.Filter());
      const Choice choice = Choose(proc, found, 0, job_name);
      if (nodes.WantsRecords() && choice.job != nullptr) {
        return HostStacks{.host = HostName(),
                          .records = PackRecords(proc, *choice.job, flight_recorder)};
      }
      attach::LookOptions options = here(between_s);
      options.after_first = [&] { nodes.WaitForOthers(); };
      HostStacks host = LookHere(proc, choice, options);
      host.has_rings = !attach::RunDirectories(proc, host.job).empty();
      return host;
    });
  }
  std::vector<HostStacks> hosts;
  attach::JudgedStacks judged;
  if (!core_directory.empty()) {
    RaiseFileLimit();  // each core and each module takes a descriptor
    std::string error;
    const attach::FoundCores found = attach::FindCores(core_directory, &error);
    if (!error.empty()) PrintLine(error);
    if (list && !found.jobs.empty()) {
      for (const attach::CoreJob& job : found.jobs) fmt::print("{}\n", JobText(job.job));
      return kNothingFound;
    }
    std::optional<HostStacks> host = LookAtCoresOf(core_directory, found, !no_locals);
    if (!host) return kUsage;
    hosts.push_back(std::move(*host));
    confirm_s = 0;
  }
  attach::FoundJobs found;
  Choice choice;
  if (core_directory.empty() && !nodes.wanted()) {
    found = attach::FindJobs(proc, geteuid());
    if (list && !found.jobs.empty()) {
      PrintJobs(found);
      return kNothingFound;
    }
    choice = Choose(proc, found, pid, job_name);
    for (const std::string& line : choice.why) PrintLine(line);
    if (choice.job == nullptr) return kUsage;
  }
  const auto ask_nodes = [&](std::vector<std::string> options) {
    if (!job_name.empty()) options.insert(options.end(), {"--job", job_name});
    return nodes.Look(options);
  };
  const auto look = [&](double between) {
    if (!core_directory.empty()) {
      // They do not change.
    } else if (nodes.wanted()) {
      std::vector<std::string> options = {"--between", fmt::format("{}", between)};
      if (no_locals) options.emplace_back("--no-locals");
      auto answers = ask_nodes(std::move(options));
      if (!answers) return false;
      hosts = std::move(*answers);
      attach::SymbolizeHere(&hosts);
    } else {
      hosts = {LookHere(proc, choice, here(between))};
    }
    const std::optional<JobStacks> job = TheJob(hosts);
    if (job) judged = attach::JudgeStacks(*job);
    return job.has_value();
  };
  if (!look(between_s)) return kUsage;
  const bool confirm = !judged.report.findings.empty() && confirm_s > between_s;
  if (confirm && !look(confirm_s)) return kUsage;
  std::optional<attach::Recorded> recorded;
  if (choice.job != nullptr) recorded = ReadRecords(proc, *choice.job, flight_recorder);
  const bool has_rings = std::any_of(hosts.begin(), hosts.end(),
                                     [](const HostStacks& host) { return host.has_rings; });
  if (nodes.wanted() && (has_rings || flight_recorder)) {
    std::vector<std::string> options = {"--records"};
    if (flight_recorder) options.emplace_back("--flight-recorder");
    if (const auto answers = ask_nodes(std::move(options))) recorded = ReadPackedRecords(*answers);
  }
  if (recorded && !attach::TellsMore(recorded->report, judged.report)) {
    if (recorded->report.findings.empty()) {
      for (Finding& finding : judged.report.findings) {
        finding.notes.push_back("the calls that the ranks recorded do not show it");
      }
    }
    recorded.reset();
  }
  const int code =
      PrintStacks(judged, outputs, style.For(STDOUT_FILENO), recorded ? &*recorded : nullptr);
  if (!bundle.path.empty() && !WriteAttachBundle(bundle, std::move(hosts), judged)) return kUsage;
  return code;
}

}  // namespace rollcall
