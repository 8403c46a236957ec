// SPDX-License-Identifier: Apache-2.0
// rollcall attach: diagnoses a running job that was started without rollcall.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/attach_nodes.h"
#include "cli/attach_records.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "cli/stacks_output.h"
#include "collector/attach/cores.h"
#include "collector/attach/job_choice.h"
#include "collector/attach/job_finder.h"
#include "collector/attach/job_stacks.h"
#include "collector/attach/records.h"
#include "collector/attach/sample.h"
#include "collector/attach/stacks.h"
#include "collector/base/clock.h"
#include "collector/base/file.h"
#include "collector/base/print_line.h"
#include "collector/base/proc_source.h"
#include "collector/bundle/format.h"
#include "collector/bundle/writer.h"
#include "collector/collect/observed.h"
#include "collector/import/stacks_text.h"
#include "collector/launch/job_environment.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

using attach::FoundJob;
using attach::HostStacks;
using attach::JobStacks;
using attach::JobText;

void PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) PrintLine(line);
}

// Takes the stacks on this machine. If no job was chosen, `absent` contains the reason.
HostStacks LookHere(const ProcSource& proc, const attach::Choice& choice,
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
        "--bundle", &bundle_path_,
        "write the stacks into this file, which analyze reads on any machine (docs/bundle.md)",
        {.type = "FILE"});
    parser->Add("--bundle-sources", &bundle_sources_,
                "with --bundle: also keep the source lines around the calls",
                {.needs = "--bundle"});
    outputs_.AddOptions(parser, Outputs::StandardOutput::kOurs);
    style_.AddOptions(parser);
  }

  // Returns the exit code.
  int Run() {
    if (nodes_.IsNode()) return AnswerAsNode();
    if (const auto code = Find()) return *code;
    for (const double between_s : {between_s_, confirm_s_}) {
      if (!Sample(between_s)) return kUsage;
      const std::optional<JobStacks> job = Import();
      if (!job) return kUsage;
      judged_ = attach::JudgeStacks(*job);
      // Cores are not read again: they do not change.
      const bool again = core_directory_.empty() && confirm_s_ > between_s_;
      if (!again || judged_.report.findings.empty()) break;
    }
    return Report();
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
      const attach::Choice choice = Choose(proc_, found, 0, job_name_);
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

  // Returns an exit code if there is nothing to diagnose, or if only the list was requested. Other
  // nodes choose the job themselves.
  std::optional<int> Find() {
    if (nodes_.wanted()) return std::nullopt;
    std::vector<const FoundJob*> jobs;
    if (core_directory_.empty()) {
      found_ = attach::FindJobs(proc_, geteuid());
      for (const FoundJob& job : found_.jobs) jobs.push_back(&job);
    } else {
      RaiseFileLimit();  // each core and each module needs a descriptor
      cores_ = attach::FindCores(core_directory_);
      for (const attach::CoreJob& job : cores_.jobs) jobs.push_back(&job.job);
    }
    PrintLines(cores_.problems);
    if (list_ && !jobs.empty()) {
      for (const FoundJob* job : jobs) fmt::print("{}\n", JobText(*job));
      return kNothingFound;
    }
    choice_ = core_directory_.empty() ? Choose(proc_, found_, pid_, job_name_)
                                      : Choose(cores_, core_directory_);
    PrintLines(choice_.why);
    if (choice_.job == nullptr) return kUsage;
    return std::nullopt;
  }

  std::optional<std::vector<HostStacks>> QueryNodes(std::vector<std::string> options) {
    if (!job_name_.empty()) options.insert(options.end(), {"--job", job_name_});
    return nodes_.Sample(options);
  }

  // Takes the stacks of the ranks. Returns false, after lines on stderr, if no node can be reached.
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
    } else {
      // Core files do not name their host.
      HostStacks& host = hosts_.emplace_back();
      host.taken_at_ns = Now(CLOCK_REALTIME);
      host.job = *choice_.job;
      std::vector<std::string> problems;
      host.ranks = attach::SampleCores(cores_.jobs.front(), !no_locals_, &problems);
      PrintLines(problems);
    }
    return true;
  }

  // The single job that has ranks on the hosts. Empty, after lines on stderr, if there is no job or
  // more than one.
  std::optional<JobStacks> Import() const {
    std::optional<JobStacks> job =
        OnlyJob(hosts_, "no host has a rank of a distributed job",
                "the hosts have several jobs; choose one with --job (its program):");
    const bool none =
        std::ranges::all_of(hosts_, [](const HostStacks& host) { return host.ranks.empty(); });
    if (none) {
      for (const HostStacks& host : hosts_)
        PrintLine(fmt::format("{}: {}", host.host, host.absent));
    }
    return job;
  }

  // Reads the ranks' records and returns them if they contain more than the stacks.
  std::optional<attach::Recorded> ReadWhatIsRecorded() {
    std::optional<attach::Recorded> recorded;
    const bool here = core_directory_.empty() && choice_.job != nullptr;
    if (here) recorded = ReadRecords(proc_, *choice_.job, flight_recorder_);
    const bool has_rings = std::ranges::any_of(hosts_, &HostStacks::has_rings);
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

  int Report() {
    const std::optional<attach::Recorded> recorded = ReadWhatIsRecorded();
    const int code =
        PrintStacks(judged_, outputs_, style_.For(STDOUT_FILENO), recorded ? &*recorded : nullptr);
    return bundle_path_.empty() || WriteBundle() ? code : kUsage;
  }

  // Packs the stacks into one file, which `rollcall analyze` reads on any machine, and reports the
  // file on stderr. Returns false, after a line on stderr, on failure.
  bool WriteBundle() {
    const Trace& trace = judged_.trace;
    // Includes sources that only this host could read.
    if (!hosts_.empty()) hosts_.front().sources = trace.sources;
    bundle::Writer writer(bundle_path_, ROLLCALL_VERSION, Now(CLOCK_REALTIME));
    if (bundle_sources_) writer.Add(bundle::kSourcesName, collect::DescribeSources(trace));
    size_t nodes = 0;
    for (const HostStacks& host : hosts_) {
      writer.Add(fmt::format("{}/{}", nodes++, kStacksName),
                 attach::WriteStacks(host, ROLLCALL_VERSION));
    }
    if (!writer.Finish()) {
      PrintLine(fmt::format("{}: {}", bundle_path_, writer.error()));
      return false;
    }
    PrintLine(fmt::format("bundle: {}: the stacks of {} ranks of {} in {} KiB", bundle_path_,
                          trace.processes.size(), CountText(nodes, "node"),
                          (writer.packed_bytes() + 1023) / 1024));
    return true;
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
  std::string bundle_path_;  // empty: no bundle is requested
  bool bundle_sources_ = false;
  Outputs outputs_;
  TextStyle style_;

  const ProcSource proc_;
  attach::FoundJobs found_;   // on this machine
  attach::FoundCores cores_;  // in core_directory_
  attach::Choice choice_;     // of found_ or cores_
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
