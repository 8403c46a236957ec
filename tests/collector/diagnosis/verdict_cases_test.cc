// Every tests/golden/verdicts/NAME.trace: a trace in a few readable lines, and below "expect:" what
// must be said of it, one line per finding, or "nothing". Adding a case is adding a file.
//
//   expect: (after "stall-after SECONDS", "job-ended": options of the diagnosis)
//   KIND, CERTAINTY: culprits RANKS, waiting RANKS, CALL on COMMUNICATOR, scene LINES, culprit
//   LINES a finding that does not stop the job begins with "silent "
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/model/text_trace.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;

std::string Lines(const Finding& finding, bool culprit) {
  std::set<std::string> lines;
  for (const Site& site : finding.sites) {
    if (site.culprit == culprit && site.frame.line != 0) {
      lines.insert(fmt::format("{}:{}", site.frame.function, site.frame.line));
    }
  }
  return lines.empty() ? "-" : fmt::format("{}", fmt::join(lines, " "));
}

std::string Summary(const Trace& trace, const Finding& finding) {
  std::string call = finding.operation == Operation::kNone ? "-" : OperationName(finding.operation);
  if (finding.sequence != 0) call += fmt::format(" #{}", finding.sequence);
  if (finding.communicator != kNoIndex) {
    call += " on " + trace.communicators[finding.communicator].name;
  }
  return fmt::format("{}{}, {}: culprits {}, waiting {}, {}, scene {}, culprit {}",
                     finding.hangs ? "" : "silent ", KindName(finding.kind),
                     CertaintyName(finding.certainty), FoldRanks(finding.culprits),
                     FoldRanks(finding.waiting), call, Lines(finding, false), Lines(finding, true));
}

struct Case {
  std::string trace;
  std::vector<std::string> expected;
  DiagnoseOptions options;
};

Case Read(const fs::path& path) {
  Case result;
  std::ifstream file(path);
  bool expecting = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "expect:") {
      expecting = true;
    } else if (expecting) {
      if (!line.empty()) result.expected.push_back(line);
    } else if (line.rfind("stall-after ", 0) == 0) {
      result.options.stall_after_ns = std::stoll(line.substr(12)) * 1'000'000'000;
    } else if (line == "job-ended") {
      result.options.job_ended = true;
    } else {
      result.trace += line + '\n';
    }
  }
  return result;
}

class VerdictCase : public testing::TestWithParam<std::string> {};

TEST_P(VerdictCase, IsAsExpected) {
  const fs::path path =
      fs::path(ROLLCALL_SOURCE_DIR) / "tests/golden/verdicts" / (GetParam() + ".trace");
  const Case test = Read(path);
  const TextTraceResult parsed = ParseTextTrace(test.trace);
  ASSERT_EQ(parsed.errors, std::vector<std::string>{});
  const Report report = Diagnose(parsed.trace, test.options);
  std::vector<std::string> actual;
  for (const Finding& finding : report.findings) actual.push_back(Summary(parsed.trace, finding));
  if (actual.empty()) actual.emplace_back("nothing");
  EXPECT_EQ(fmt::format("{}", fmt::join(test.expected, "\n")),
            fmt::format("{}", fmt::join(actual, "\n")));
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(ROLLCALL_SOURCE_DIR) / "tests/golden/verdicts")) {
    if (entry.path().extension() == ".trace") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Golden, VerdictCase, testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace rollcall
