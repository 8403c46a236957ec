// SPDX-License-Identifier: Apache-2.0
// rollcall analyze: prints the verdict on the traces of a job.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "cli/outputs.h"
#include "cli/report_output.h"
#include "cli/stacks_output.h"
#include "collector/attach/job_stacks.h"
#include "collector/base/print_line.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/export/exporter.h"
#include "collector/import/load_inputs.h"
#include "collector/service/progress_times.h"

namespace rollcall {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

// With the source lines that a bundle contains.
TextOptions TextFor(const TextStyle& style, const Inputs& loaded) {
  TextOptions text = style.For(STDOUT_FILENO);
  text.excerpt = [&loaded](const std::string& file, const std::vector<int>& lines) {
    return loaded.sources.Excerpt(file, lines);
  };
  return text;
}

// Analyzes the stacks that `rollcall attach` took of a job without traces.
int AnalyzeStacks(const Inputs& loaded, const Outputs& outputs, const TextStyle& style) {
  const std::optional<attach::JudgedStacks> judged = JudgeLoaded(loaded);
  if (!judged) return kUsage;
  return PrintStacks(*judged, outputs, TextFor(style, loaded));
}

}  // namespace

int RunAnalyze(int argc, char** argv) {
  ArgumentParser parser("Diagnoses a job from the traces that it left, or is leaving.",
                        "rollcall analyze");
  std::vector<std::string> inputs;
  Outputs outputs;
  TextStyle style;
  std::string rank_pattern;
  std::vector<std::string> also;
  double stall_after_s = 30;
  double idle_after_s = 0;
  AddInputs(&parser, &inputs);
  outputs.AddOptions(&parser, Outputs::StandardOutput::kOurs);
  style.AddOptions(&parser);
  parser.Add("--rank-pattern", &rank_pattern,
             "a regular expression with one group that finds the rank in the file name of a Flight "
             "Recorder dump (default: the last digits)",
             {.type = "REGEX"});
  parser.Add("--also", &also,
             "also report what does not stop a job: ranks that always arrive last, sends that "
             "complete only because MPI buffers them",
             {.type = "stragglers,buffering",
              .one_of = {"stragglers", "buffering"},
              .comma_separated = true});
  parser.Add("--stall-after", &stall_after_s,
             "how long a rank may be absent before it is called stalled",
             {.type = "SECONDS", .must = Must::kBeNonNegative, .show_default = true});
  parser.Add("--idle-after", &idle_after_s,
             "the same for a rank that waits for a client or for another process outside the job "
             "(default: it is never called stalled)",
             {.type = "SECONDS", .must = Must::kBePositive});
  parser.SetFooter("Exit codes: 0 nothing found, 1 findings, 2 usage or unreadable input.");
  if (const auto code = parser.Parse(argc, argv)) return *code;

  flight_recorder::RankPattern pattern;
  if (!rank_pattern.empty()) {
    const auto parsed = flight_recorder::RankPattern::Parse(rank_pattern);
    if (!parsed) {
      PrintLine(fmt::format("--rank-pattern: {}", parsed.error()));
      return kUsage;
    }
    pattern = *parsed;
  }
  Inputs loaded = LoadInputs(inputs, pattern);
  Trace& trace = loaded.trace;
  PrintProblems(trace.problems);
  if (trace.processes.empty() && !loaded.stacks.empty()) {
    return AnalyzeStacks(loaded, outputs, style);
  }
  const bool only_logs =
      !loaded.files.empty() && std::ranges::all_of(loaded.files, [](const FoundInput& f) {
        return f.format == &kLogFormat;
      });
  if (trace.processes.empty() && !only_logs && !Contains(inputs, kStandardInput)) {
    PrintLine("no rank's trace could be read");
    return kUsage;
  }
  SymbolizeTrace(&trace);
  DiagnoseOptions diagnose;
  diagnose.job_ended = HasEnded(trace);
  diagnose.stall_after_ns = static_cast<int64_t>(stall_after_s * 1e9);
  diagnose.idle_after_ns = service::IdleAfterNs(idle_after_s);
  diagnose.find_stragglers = Contains(also, "stragglers");
  diagnose.judge_buffering = Contains(also, "buffering");
  const Report report = Diagnose(trace, diagnose);

  const Subject subject = outputs.Describe(trace, report, diagnose, TextFor(style, loaded));
  if (!outputs.ToStandardOutput()) ExportText(subject, std::cout);
  if (!outputs.Write(subject)) return kUsage;
  return subject.judgement.Fails() ? kFindings : kNothingFound;
}

}  // namespace rollcall
