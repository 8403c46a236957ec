// rollcall analyze: the verdict on what a job left behind.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/export/exporter.h"
#include "collector/import/append_trace.h"
#include "collector/import/flight_recorder/dump_files.h"
#include "collector/import/run_directory.h"
#include "collector/model/python_merge.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall {
namespace {

// Frames for the codes to which the journal had none.
void SymbolizeTrace(Trace* trace) {
  Symbolizer symbolizer;
  for (Code& code : trace->codes) {
    if (!code.frames.empty()) continue;
    CodeAddress address;
    address.module_path = code.module_path;
    address.build_id = code.build_id;
    address.vaddr = code.vaddr;
    address.is_return_address = true;
    code.frames = symbolizer.Symbolize(address);
  }
  MergePythonFrames(trace);
}

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The job is over when no process of it is known to live.
bool HasEnded(const Trace& trace) {
  for (const Process& process : trace.processes) {
    if (process.end.how == ProcessEnd::How::kAlive) return false;
  }
  return true;
}

// Rings and journals, and the dumps of PyTorch's Flight Recorder, whatever their names.
Trace Load(const std::vector<std::string>& inputs, const flight_recorder::RankPattern& pattern) {
  const flight_recorder::DumpFiles dumps = flight_recorder::FindDumpFiles(inputs, pattern);
  std::vector<std::string> others;
  for (const std::string& input : inputs) {
    std::error_code error;
    const bool has_dumps = Contains(dumps.inputs, input);
    if (!has_dumps || std::filesystem::is_directory(input, error)) others.push_back(input);
  }
  Trace trace = others.empty() ? Trace() : LoadTrace(others);
  // A directory of dumps need not hold rings, too.
  std::erase_if(trace.problems, [&](const Problem& problem) {
    return Contains(dumps.inputs, problem.source) && problem.message == kNoTraces;
  });
  AppendTrace(flight_recorder::LoadDumps(dumps), &trace);
  return trace;
}

}  // namespace

int RunAnalyze(int argc, char** argv) {
  CLI::App app("Says what went wrong, from the traces that a job left behind, or leaves.",
               "rollcall analyze");
  std::vector<std::string> inputs;
  Outputs outputs;
  std::string color = "auto";
  std::string stacks = "user";
  std::string rank_pattern;
  std::vector<std::string> also;
  double stall_after_s = 30;
  app.add_option("input", inputs,
                 "run directories, ring files, journals, PyTorch Flight Recorder dumps")
      ->required()
      ->type_name("DIR|FILE")
      ->check(CLI::ExistingPath);
  outputs.AddOptions(&app, Outputs::StandardOutput::kOurs);
  app.add_option("--color", color, "colour the text")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  AddStacksOption(&app, &stacks);
  app.add_option("--rank-pattern", rank_pattern,
                 "where a Flight Recorder dump's file name has the rank: a regular expression with "
                 "one group (default: its last digits)")
      ->type_name("REGEX");
  app.add_option("--also", also,
                 "say, too, what does not stop a job: ranks that always come last, sends that "
                 "complete only because MPI buffers them")
      ->delimiter(',')
      ->type_name("stragglers,buffering")
      ->check(CLI::IsMember({"stragglers", "buffering"}));
  app.add_option("--stall-after", stall_after_s,
                 "how long a rank may be absent before it is called stalled")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.footer("Exit codes: 0 nothing found, 1 findings, 2 usage or unreadable input.");
  if (const auto code = ParseArguments(app, argc, argv)) return *code;

  flight_recorder::RankPattern pattern;
  if (!rank_pattern.empty()) {
    std::string error;
    const auto parsed = flight_recorder::RankPattern::Parse(rank_pattern, &error);
    if (!parsed) {
      fmt::print(stderr, "rollcall: --rank-pattern: {}\n", error);
      return kUsage;
    }
    pattern = *parsed;
  }
  Trace trace = Load(inputs, pattern);
  for (const Problem& problem : trace.problems) {
    const std::string where = problem.source.empty() ? "" : problem.source + ": ";
    const std::string offset =
        problem.offset < 0 ? "" : fmt::format("at byte {}: ", problem.offset);
    fmt::print(stderr, "rollcall: {}{}{}\n", where, offset, problem.message);
  }
  if (trace.processes.empty()) {
    fmt::print(stderr, "rollcall: no rank's trace could be read\n");
    return kUsage;
  }
  SymbolizeTrace(&trace);
  DiagnoseOptions diagnose;
  diagnose.job_ended = HasEnded(trace);
  diagnose.stall_after_ns = static_cast<int64_t>(stall_after_s * 1e9);
  diagnose.find_stragglers = Contains(also, "stragglers");
  diagnose.judge_buffering = Contains(also, "buffering");
  const Report report = Diagnose(trace, diagnose);

  const Subject subject = {.trace = trace,
                           .report = report,
                           .diagnose = diagnose,
                           .judgement = JudgeAll(report),
                           .text = TextFor(color, stacks, STDOUT_FILENO),
                           .source_root = outputs.SourceRoot(),
                           .version = ROLLCALL_VERSION};
  if (!outputs.ToStandardOutput()) ExportText(subject, std::cout);
  if (!outputs.Write(subject)) return kUsage;
  return subject.judgement.Fails() ? kFindings : kNothingFound;
}

}  // namespace rollcall
