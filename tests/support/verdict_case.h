// SPDX-License-Identifier: Apache-2.0
// The cases of tests/golden/verdicts/: a trace in a few readable lines (text_trace.md), options of
// the diagnosis, and the expected findings after "expect:". To add a case, add a file.
//
//   before "expect:"        option
//   stall-after SECONDS     call a rank that computes stalled after this long
//   idle-after SECONDS      the same of a rank that waits for the world outside the job
//   time-limit SECONDS      the job was ended because of its time limit
//   time-is-up              the job is about to be ended because it takes too long
//   job-ended               the job is over
//   judge-buffering         report what relies on MPI's buffering
//   judge-end               report what only the end of a job shows; implies job-ended
//   find-stragglers         report ranks that are always late
//   compare-call-sites      report collectives that are called from different places
//
//   below "expect:"         one line per finding, in the report's order, or "nothing":
//   [silent ]KIND, CERTAINTY: culprits RANKS, waiting RANKS, CALL on COMMUNICATOR, scene LINES,
//                           culprit LINES (in one line; "silent": it does not stop the job)
//   says: TEXT              occurs in a title, value, fix or note
//   never: TEXT             occurs in none
//
// For example:
//
//   ranks 2
//   0: waits in Barrier @ main:10
//   1: Finalize @ main:20
//   expect:
//   finalized-early, proven: culprits 1, waiting 0, MPI_Barrier #1 on MPI_COMM_WORLD, scene
//   main:10, culprit main:20
#ifndef ROLLCALL_TESTS_SUPPORT_VERDICT_CASE_H_
#define ROLLCALL_TESTS_SUPPORT_VERDICT_CASE_H_

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/diagnosis/wording/values.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "tests/support/text_trace.h"

namespace rollcall::verdict_case {

namespace fs = std::filesystem;

inline Trace Parse(const std::string& text) {
  TextTraceResult parsed = ParseTextTrace(text);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{}) << text;
  return std::move(parsed.trace);
}

inline std::string Lines(const Finding& finding, bool culprit) {
  std::set<std::string> lines;
  for (const Site& site : finding.sites) {
    if (site.culprit == culprit && site.frame.line != 0) {
      lines.insert(fmt::format("{}:{}", site.frame.function, site.frame.line));
    }
  }
  return lines.empty() ? "-" : fmt::format("{}", fmt::join(lines, " "));
}

inline std::string Summary(const Trace& trace, const Finding& finding) {
  std::string call = finding.operation == Operation::kNone ? "-" : OperationName(finding.operation);
  if (finding.sequence != 0) call += fmt::format(" #{}", finding.sequence);
  if (finding.communicator != kNoIndex) {
    call += " on " + trace.communicators[finding.communicator].name;
  }
  return fmt::format("{}{}, {}: culprits {}, waiting {}, {}, scene {}, culprit {}",
                     finding.hangs ? "" : "silent ", KindText(finding),
                     CertaintyName(finding.certainty), FoldRanks(finding.culprits),
                     FoldRanks(finding.waiting), call, Lines(finding, false), Lines(finding, true));
}

struct Case {
  std::string trace;
  std::vector<std::string> expected;
  std::vector<std::string> says;   // "says: TEXT" after "expect:": a part of a title or note
  std::vector<std::string> never;  // "never: TEXT": in no title or note
  DiagnoseOptions options;
};

inline Case Read(const fs::path& path) {
  Case result;
  std::ifstream file(path);
  bool expecting = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "expect:") {
      expecting = true;
    } else if (expecting && line.rfind("says: ", 0) == 0) {
      result.says.push_back(line.substr(6));
    } else if (expecting && line.rfind("never: ", 0) == 0) {
      result.never.push_back(line.substr(7));
    } else if (expecting) {
      if (!line.empty()) result.expected.push_back(line);
    } else if (line.rfind("stall-after ", 0) == 0) {
      result.options.stall_after_ns = std::stoll(line.substr(12)) * 1'000'000'000;
    } else if (line.rfind("idle-after ", 0) == 0) {
      result.options.idle_after_ns = std::stoll(line.substr(11)) * 1'000'000'000;
    } else if (line == "judge-buffering") {
      result.options.judge_buffering = true;
    } else if (line == "find-stragglers") {
      result.options.find_stragglers = true;
    } else if (line == "judge-end") {
      result.options.judge_end = true;
      result.options.job_ended = true;
    } else if (line == "compare-call-sites") {
      result.options.compare_call_sites = true;
    } else if (line.rfind("time-limit ", 0) == 0) {
      result.options.time_limit_ns = std::stoll(line.substr(11)) * 1'000'000'000;
      result.options.job_ended = true;
    } else if (line == "time-is-up") {
      result.options.time_is_up = true;
    } else if (line == "job-ended") {
      result.options.job_ended = true;
    } else {
      result.trace += line + '\n';
    }
  }
  return result;
}

// One line per finding, or "nothing".
inline std::vector<std::string> Summaries(const Trace& trace, const DiagnoseOptions& options) {
  std::vector<std::string> lines;
  for (const Finding& finding : Diagnose(trace, options).findings) {
    lines.push_back(Summary(trace, finding));
  }
  if (lines.empty()) lines.emplace_back("nothing");
  return lines;
}

// All titles and notes, one per line.
inline std::string Sentences(const Trace& trace, const DiagnoseOptions& options) {
  const Report report = Diagnose(trace, options);
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.title + '\n';
    for (const ComparedValue& value : finding.values) text += ValueText(value) + '\n';
    text += FixText(finding) + '\n';
    for (const std::string& note : finding.notes) text += note + '\n';
  }
  for (const std::string& note : report.notes) text += note + '\n';
  return text;
}

inline fs::path Directory() { return fs::path(ROLLCALL_SOURCE_DIR) / "tests/golden/verdicts"; }

inline std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(Directory())) {
    if (entry.path().extension() == ".trace") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Case Load(const std::string& name) { return Read(Directory() / (name + ".trace")); }

}  // namespace rollcall::verdict_case

#endif  // ROLLCALL_TESTS_SUPPORT_VERDICT_CASE_H_
