// The cases of tests/golden/verdicts/: a trace in a few readable lines, and below "expect:" what
// must be said of it, one line per finding, or "nothing". Adding a case is adding a file.
//
//   expect: (after "stall-after SECONDS", "job-ended", "judge-buffering", "find-stragglers",
//   "judge-end", "compare-call-sites", "time-limit SECONDS": options of the diagnosis) KIND,
//   CERTAINTY: culprits RANKS, waiting RANKS, CALL on COMMUNICATOR, scene LINES, culprit LINES a
//   finding that does not stop the job begins with "silent "
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
  std::vector<std::string> says;   // "says: TEXT" behind expect: a part of a title or note
  std::vector<std::string> never;  // "never: TEXT": of none
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

// All titles and notes, one a line.
inline std::string Sentences(const Trace& trace, const DiagnoseOptions& options) {
  const Report report = Diagnose(trace, options);
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.title + '\n';
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
