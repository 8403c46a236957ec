// SPDX-License-Identifier: Apache-2.0
// rollcall attach: diagnoses a running job that was started without rollcall.
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
#include "collector/attach/records.h"
#include "collector/attach/sample.h"
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
  const FoundJob* job = nullptr;      // null: there is no single matching job
  std::vector<std::string> why = {};  // messages for the user, one per line
};

// Explains why the process belongs to no job.
std::string NoRankText(const ProcSource& proc, pid_t pid) {
  struct stat process {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0) {
    return fmt::format("there is no process {}", pid);
  }
  if (geteuid() != 0 && process.st_uid != geteuid()) return ExplainPtraceDenied(proc, pid);
  return fmt::format(
      "process {} is not a rank and starts none; `rollcall attach --list` shows the jobs", pid);
}

// Chooses a job by the pid of one of its processes (0: any) and by its name or program (empty:
// any).
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
  // All of them belong to the launcher with that pid, which names its jobs. The first job has
  // started the others (MPI_Comm_spawn).
  const bool spawned =
      pid != 0 && std::all_of(fitting.begin(), fitting.end(), [&](const FoundJob* job) {
        return !attach::IsIdentifiedByParent(*job) && job->others == fitting.front()->others;
      });
  if (spawned) {
    Choice first = {.job = fitting.front(),
                    .why = {"using the launcher's first job; it has others:"}};
    for (size_t i = 1; i < fitting.size(); ++i) first.why.push_back("  " + JobText(*fitting[i]));
    return first;
  }
  // A shell may have started several jobs.
  Choice none = {.why = {"there are several jobs; choose one with --pid (one of its ranks) or "
                         "--job (its program):"}};
  for (const FoundJob* job : fitting) none.why.push_back("  " + JobText(*job));
  return none;
}

// Takes the stacks on this machine. If no job was chosen, `absent` contains the reason.
HostStacks LookHere(const ProcSource& proc, const Choice& choice,
                    const attach::SampleOptions& options) {
  HostStacks host = {.host = HostName(), .taken_at_ns = Now(CLOCK_REALTIME)};
  if (choice.job == nullptr) {
    for (const std::string& line : choice.why) host.absent += line;
    return host;
  }
  host.job = *choice.job;
  host.ranks = attach::SampleTwice(proc, host.job, options);
  return host;
}

// Reads the stacks of the single job that left cores in a directory. Empty, after lines on stderr,
// if there is no job or more than one.
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
  // Core files do not name their host.
  HostStacks host = {.host = "", .taken_at_ns = Now(CLOCK_REALTIME), .job = job.job};
  host.ranks = attach::SampleCores(job, integers, &problems);
  for (const std::string& problem : problems) PrintLine(problem);
  return host;
}

// The single job that has ranks on the hosts. Empty, after lines on stderr, if there is no job or
// more than one.
std::optional<JobStacks> TheJob(const std::vector<HostStacks>& hosts) {
  std::vector<JobStacks> jobs = attach::JoinHosts(hosts);
  if (jobs.size() == 1) return std::move(jobs.front());
  if (jobs.empty()) {
    PrintLine("no host has a rank of a distributed job");
    for (const HostStacks& host : hosts) PrintLine(fmt::format("{}: {}", host.host, host.absent));
  } else {
    PrintLine("the hosts have several jobs; choose one with --job (its program):");
    for (const JobStacks& job : jobs) PrintLine("  " + JobText(job.job));
  }
  return std::nullopt;
}

class AttachCommand {
 public:
  void AddOptions(ArgumentParser* parser) {
    parser->Add("--pid", &pid_, "the job of this process: a rank, a child of one, or the launcher",
                {.type = "PID", .must = Must::kBePositive});
    parser->Add("--job", &job_name_, "the job with this name, or whose program has it",
                {.type = "NAME"});
    nodes_.AddOptions(parser);
    parser->Add("--list", &list_, "only list this user's distributed jobs on this machine",
                {.excludes = "--hosts,--slurm"});
    parser->Add(
        "--core", &core_directory_, "use the core files in this directory instead of a running job",
        {.type = "DIR", .must = Must::kBeDirectory, .excludes = "--pid,--hosts,--slurm,--job"});
    parser->Add(
        "--between", &between_s_, "time between the two samples of a rank",
        {.type = "SECONDS", .must = Must::kBePositive, .show_default = true, .excludes = "--core"});
    parser->Add("--confirm", &confirm_s_,
                "after a finding, sample twice again, this time apart, and report the second "
                "result; 0: do not",
                {.type = "SECONDS",
                 .must = Must::kBeNonNegative,
                 .show_default = true,
                 .excludes = "--core"});
    parser->Add("--no-locals", &no_locals_, "do not read the integers of Python frames");
    parser->Add("--flight-recorder", &flight_recorder_,
                "request a dump of PyTorch's Flight Recorder from each rank and read it; needs "
                "TORCH_NCCL_DEBUG_INFO_PIPE_FILE in the job's environment",
                {.excludes = "--core"});
    parser->Add(
        "--bundle", &bundle_.path,
        "write the stacks into this file, which analyze reads on any machine (docs/bundle.md)",
        {.type = "FILE"});
    parser->Add("--bundle-sources", &bundle_.sources,
                "with --bundle: also keep the source lines around the calls",
                {.needs = "--bundle"});
    outputs_.AddOptions(parser, Outputs::StandardOutput::kOurs);
    style_.AddOptions(parser);
  }

  // Returns the exit code.
  int Run() {
    if (nodes_.IsNode()) return AnswerAsNode();
    if (const auto code = core_directory_.empty() ? FindJob() : ReadCores()) return *code;
    if (!Sample(between_s_)) return kUsage;
    const bool confirm = !judged_.report.findings.empty() && confirm_s_ > between_s_;
    if (confirm && core_directory_.empty() && !Sample(confirm_s_)) return kUsage;
    const std::optional<attach::Recorded> recorded = ReadWhatIsRecorded();
    const int code =
        PrintStacks(judged_, outputs_, style_.For(STDOUT_FILENO), recorded ? &*recorded : nullptr);
    if (!bundle_.path.empty() && !WriteAttachBundle(bundle_, std::move(hosts_), judged_)) {
      return kUsage;
    }
    return code;
  }

 private:
  attach::SampleOptions OptionsOf(double between_s) const {
    const auto wait = std::chrono::milliseconds(static_cast<int64_t>(between_s * 1e3));
    return {.between = wait, .integers = !no_locals_, .after_first = {}};
  }

  // Answers the request of a rollcall on another host.
  int AnswerAsNode() {
    return nodes_.Answer([&] {
      const attach::FoundJobs found = attach::FindJobs(proc_, geteuid(), nodes_.Filter());
      const Choice choice = Choose(proc_, found, 0, job_name_);
      if (nodes_.WantsRecords() && choice.job != nullptr) {
        return HostStacks{.host = HostName(),
                          .records = PackRecords(proc_, *choice.job, flight_recorder_)};
      }
      attach::SampleOptions options = OptionsOf(between_s_);
      options.after_first = [&] { nodes_.WaitForOthers(); };
      HostStacks host = LookHere(proc_, choice, options);
      host.has_rings = !attach::RunDirectories(proc_, host.job).empty();
      return host;
    });
  }

  // Returns an exit code if there is nothing to diagnose, or if only the list was requested.
  std::optional<int> ReadCores() {
    RaiseFileLimit();  // each core and each module needs a descriptor
    std::string error;
    const attach::FoundCores found = attach::FindCores(core_directory_, &error);
    if (!error.empty()) PrintLine(error);
    if (list_ && !found.jobs.empty()) {
      for (const attach::CoreJob& job : found.jobs) fmt::print("{}\n", JobText(job.job));
      return kNothingFound;
    }
    std::optional<HostStacks> host = LookAtCoresOf(core_directory_, found, !no_locals_);
    if (!host) return kUsage;
    hosts_.push_back(std::move(*host));
    return std::nullopt;
  }

  // Returns as ReadCores() does. Other nodes choose the job themselves.
  std::optional<int> FindJob() {
    if (nodes_.wanted()) return std::nullopt;
    found_ = attach::FindJobs(proc_, geteuid());
    if (list_ && !found_.jobs.empty()) {
      PrintJobs(found_);
      return kNothingFound;
    }
    choice_ = Choose(proc_, found_, pid_, job_name_);
    for (const std::string& line : choice_.why) PrintLine(line);
    if (choice_.job == nullptr) return kUsage;
    return std::nullopt;
  }

  std::optional<std::vector<HostStacks>> QueryNodes(std::vector<std::string> options) {
    if (!job_name_.empty()) options.insert(options.end(), {"--job", job_name_});
    return nodes_.Sample(options);
  }

  // Takes stacks and judges them. Returns false, after lines on stderr, if no job was found. Cores
  // are not read again: they do not change.
  bool Sample(double between_s) {
    if (nodes_.wanted()) {
      std::vector<std::string> options = {"--between", fmt::format("{}", between_s)};
      if (no_locals_) options.emplace_back("--no-locals");
      auto answers = QueryNodes(std::move(options));
      if (!answers) return false;
      hosts_ = std::move(*answers);
      attach::SymbolizeHere(&hosts_);
    } else if (core_directory_.empty()) {
      hosts_ = {LookHere(proc_, choice_, OptionsOf(between_s))};
    }
    const std::optional<JobStacks> job = TheJob(hosts_);
    if (job) judged_ = attach::JudgeStacks(*job);
    return job.has_value();
  }

  // Reads the ranks' records and returns them if they contain more than the stacks.
  std::optional<attach::Recorded> ReadWhatIsRecorded() {
    std::optional<attach::Recorded> recorded;
    if (choice_.job != nullptr) recorded = ReadRecords(proc_, *choice_.job, flight_recorder_);
    const bool has_rings = std::any_of(hosts_.begin(), hosts_.end(),
                                       [](const HostStacks& host) { return host.has_rings; });
    if (nodes_.wanted() && (has_rings || flight_recorder_)) {
      std::vector<std::string> options = {"--records"};
      if (flight_recorder_) options.emplace_back("--flight-recorder");
      if (const auto answers = QueryNodes(std::move(options)))
        recorded = ReadPackedRecords(*answers);
    }
    if (!recorded || attach::IsMoreInformative(recorded->report, judged_.report)) return recorded;
    if (recorded->report.findings.empty()) {
      for (Finding& finding : judged_.report.findings) {
        finding.notes.push_back("the calls that the ranks recorded do not show it");
      }
    }
    return std::nullopt;
  }

  bool list_ = false;
  std::string core_directory_;
  int32_t pid_ = 0;
  double between_s_ = 1;
  double confirm_s_ = 5;  // a call that moves much data may take longer than a second
  bool no_locals_ = false;
  bool flight_recorder_ = false;
  std::string job_name_;
  AttachNodes nodes_;
  AttachBundle bundle_;
  Outputs outputs_;
  TextStyle style_;

  const ProcSource proc_;
  attach::FoundJobs found_;  // on this machine
  Choice choice_;            // of found_
  std::vector<HostStacks> hosts_;
  attach::JudgedStacks judged_;
};

}  // namespace

int RunAttach(int argc, char** argv) {
  ArgumentParser parser(
      "Diagnoses a running job that was started without rollcall, from the stacks of its ranks.",
      "rollcall attach");
  AttachCommand command;
  command.AddOptions(&parser);
  parser.SetFooter("Exit codes: 0 nothing found, 1 findings, 2 usage, or no job.");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  return command.Run();
}

}  // namespace rollcall
