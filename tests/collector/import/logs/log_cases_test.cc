// SPDX-License-Identifier: Apache-2.0
// The logs of tests/logs, and the conclusions that they allow (tests/logs/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "collector/diagnosis/diagnose.h"
#include "collector/import/load_inputs.h"

namespace rollcall::logs {
namespace {

namespace fs = std::filesystem;

const fs::path kCases = std::string(ROLLCALL_SOURCE_DIR) + "/tests/logs";

struct Expected {
  std::string name;
  std::map<std::string, std::string> values;

  std::string Get(const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }
  fs::path Log() const {
    const fs::path file = kCases / (name + ".log");
    return fs::exists(file) ? file : kCases / name;
  }
};

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos
             ? ""
             : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::vector<std::string> List(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) list.push_back(Trim(part));
  return list;
}

std::vector<Expected> AllCases() {
  std::vector<Expected> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCases)) {
    if (entry.path().extension() != ".expected") continue;
    Expected expected{entry.path().stem().string(), {}};
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos) {
        expected.values[Trim(line.substr(0, colon))] = Trim(line.substr(colon + 1));
      }
    }
    all.push_back(std::move(expected));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

Report Analyze(const fs::path& log) {
  const Trace trace = LoadInputs({log.string()}).trace;
  DiagnoseOptions options;
  options.job_ended = true;
  return Diagnose(trace, options);
}

class LogCase : public testing::TestWithParam<Expected> {};

TEST_P(LogCase, SaysWhatTheLogAllows) {
  const Expected& expected = GetParam();
  const Report report = Analyze(expected.Log());
  std::vector<int32_t> ranks;
  for (const std::string& rank : List(expected.Get("ranks"))) ranks.push_back(std::stoi(rank));
  if (const std::string missed = expected.Get("missed"); !missed.empty()) {
    // What is said instead: no other rank, in any case.
    const std::string kind =
        report.findings.empty() ? "none" : std::string(KindName(report.findings[0].kind));
    EXPECT_EQ(kind, missed);
    for (const Finding& finding : report.findings) EXPECT_TRUE(finding.culprits.empty());
    return;
  }
  if (expected.Get("kind") == "none") {
    EXPECT_TRUE(report.findings.empty()) << report.findings.front().title;
    return;
  }
  ASSERT_FALSE(report.findings.empty());
  const Finding& finding = report.findings.front();
  std::vector<std::string> kinds = List(expected.Get("also"));
  kinds.push_back(expected.Get("kind"));
  if (expected.Get("decides") == "no") {
    for (const int32_t rank : finding.culprits) {
      EXPECT_NE(std::find(ranks.begin(), ranks.end(), rank), ranks.end()) << finding.title;
    }
  } else {
    EXPECT_NE(std::find(kinds.begin(), kinds.end(), KindName(finding.kind)), kinds.end())
        << KindName(finding.kind) << ": " << finding.title;
    EXPECT_EQ(finding.culprits, ranks) << finding.title;
  }
  const std::string most = expected.Get("certainty");
  const bool too_certain = (most == "likely" && finding.certainty < Certainty::kLikely) ||
                           (most == "suspected" && finding.certainty < Certainty::kSuspected);
  EXPECT_FALSE(too_certain) << CertaintyName(finding.certainty);
  EXPECT_FALSE(finding.quotes.empty());
  if (const std::string where = expected.Get("where"); !where.empty()) {
    const auto at = [&where](const Site& site) {
      return (site.frame.file + ":" + std::to_string(site.frame.line)).ends_with(where);
    };
    EXPECT_TRUE(std::any_of(finding.sites.begin(), finding.sites.end(), at));
  }
}

INSTANTIATE_TEST_SUITE_P(All, LogCase, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rollcall::logs
