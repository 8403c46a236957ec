// SPDX-License-Identifier: Apache-2.0
// Every exporter on traces as text: the export of tests/golden/exports/NAME.trace is compared with
// NAME.KIND. With ROLLCALL_UPDATE_GOLDEN=1 the files are written first; review the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "collector/check/policy.h"
#include "collector/export/exporter.h"
#include "collector/export/places.h"
#include "collector/export/verdict_pages.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const fs::path kGolden = fs::path(ROLLCALL_SOURCE_DIR) / "tests/golden/exports";

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A job as `rollcall check` judges it. The text is a trace with additional lines "baseline ENTRY"
// and "ended" (the job is over, and all checks are enabled).
class Checked {
 public:
  explicit Checked(const std::string& text) {
    Policy policy;
    policy.fail_on = *ParseFailOn("errors");
    std::string rest;
    std::string entries;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("baseline ")) {
        entries += line.substr(9) + '\n';
      } else if (line == "ended") {
        diagnose_.job_ended = true;
        diagnose_.judge_end = true;
        diagnose_.judge_buffering = true;
        diagnose_.compare_call_sites = true;
      } else {
        rest += line + '\n';
      }
    }
    std::vector<std::string> errors;
    policy.baseline = ParseBaseline(entries, "baseline", &errors);
    TextTraceResult parsed = ParseTextTrace(rest);
    errors.insert(errors.end(), parsed.errors.begin(), parsed.errors.end());
    EXPECT_EQ(errors, std::vector<std::string>{});
    trace_ = std::move(parsed.trace);
    report_ = Diagnose(trace_, diagnose_);
    std::vector<std::string> unused;
    judgement_.rulings = Judge(report_, policy, &unused);
    judgement_.job = JobOutcome{.command = {"mpirun", "-n", "4", "./app"},
                                .exit_code = diagnose_.job_ended ? 0 : 137,
                                .ended_by_rollcall = !diagnose_.job_ended,
                                .seconds = 1.25};
  }

  Report* report() { return &report_; }
  Judgement* judgement() { return &judgement_; }

  std::string Export(std::string_view kind) const {
    std::ostringstream out;
    FindExporter(kind)->write({.trace = trace_,
                               .report = report_,
                               .diagnose = diagnose_,
                               .judgement = judgement_,
                               .text = {},
                               .source_root = "/src",
                               .version = "1.2.3"},
                              out);
    return out.str();
  }

 private:
  Trace trace_;
  DiagnoseOptions diagnose_;
  Report report_;
  Judgement judgement_;
};

struct GoldenCase {
  std::string name;
  std::string kind;
  std::string suffix;
};

std::vector<GoldenCase> GoldenCases() {
  std::vector<GoldenCase> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(kGolden)) {
    if (entry.path().extension() != ".trace") continue;
    const std::string name = entry.path().stem();
    for (const char* kind : {"text", "json", "sarif", "github"})
      cases.push_back({name, kind, kind});
    cases.push_back({name, "junit", "xml"});
  }
  return cases;
}

// Removes the texts of the verdict pages, which change more often than the export itself.
std::string WithoutHelp(const std::string& sarif) {
  auto log = nlohmann::ordered_json::parse(sarif);
  for (auto& rule : log["runs"][0]["tool"]["driver"]["rules"]) {
    EXPECT_EQ(rule["help"]["text"], rule["help"]["markdown"]);
    rule["help"] = {{"text", "…"}, {"markdown", "…"}};
  }
  return log.dump(2) + "\n";
}

class GoldenExport : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenExport, IsAsExpected) {
  const auto& [name, kind, suffix] = GetParam();
  std::string actual = Checked(ReadText(kGolden / (name + ".trace"))).Export(kind);
  if (kind == "sarif") actual = WithoutHelp(actual);
  const fs::path golden = kGolden / (name + "." + suffix);
  if (std::getenv("ROLLCALL_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << actual;
  ASSERT_TRUE(fs::exists(golden)) << golden;
  EXPECT_EQ(actual, ReadText(golden));
}

INSTANTIATE_TEST_SUITE_P(Exports, GoldenExport, testing::ValuesIn(GoldenCases()),
                         [](const auto& info) { return info.param.name + "_" + info.param.kind; });

constexpr char kExportedTrace[] = R"(ranks 4
0-3: Barrier @ main(/src/solver.c:20)
1-3: waits in Barrier @ main(/src/solver.c:20) > exchange(/src/halo.c:88)
0: waits in Allreduce sum 1xMPI_DOUBLE @ main(/src/solver.c:20) > exchange(/src/halo.c:97)
)";

TEST(ExportGithub, EscapesCharactersOfWorkflowCommands) {
  Checked checked(kExportedTrace);
  Finding& finding = checked.report()->findings.front();
  finding.title = "100%\r\nbroken: a, b";
  for (Site& site : finding.sites) site.frame.file = "/src/a,b:c%.c";
  const std::string text = checked.Export("github");
  EXPECT_THAT(text, StartsWith("::error file=a%2Cb%3Ac%25.c,line=97,"
                               "title=rollcall%3A rank-conditional-collective::"
                               "100%25%0D%0Abroken: a, b%0A"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(ExportGithub, DoesNotAnnotateKnownFindings) {
  Checked checked(kExportedTrace);
  checked.judgement()->rulings.front().weight = Ruling::Weight::kKnown;
  EXPECT_EQ(checked.Export("github"), "");
}

TEST(ExportJunit, EscapesOrRemovesCharactersThatXmlForbids) {
  Checked checked(kExportedTrace);
  Finding& finding = checked.report()->findings.front();
  finding.title = "a < b & \"c\" \x01\xff]]>";
  const std::string text = checked.Export("junit");
  EXPECT_THAT(text, HasSubstr("a &lt; b &amp; &quot;c&quot; "));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x01")), Not(HasSubstr("\xff"))));
}

// The case of the finding in the JUnit report of kExportedTrace with these phases.
std::string CaseOf(const std::string& phases) {
  const std::string text = Checked(kExportedTrace + phases).Export("junit");
  const size_t failed = text.find("<failure");
  const size_t begin = text.rfind("classname=", failed);
  return failed == std::string::npos ? text : text.substr(begin, text.find(" time", begin) - begin);
}

TEST(ExportJunit, CaseIsTheTestOfTheWaitingRanks) {
  const std::string kind = R"(classname="rollcall.rank-conditional-collective" )"
                           R"(name="rank-conditional-collective in exchange")";
  EXPECT_EQ(CaseOf(""), kind);
  EXPECT_EQ(CaseOf("1-3: phase tests/test_halo.py::test_send\n"
                   "0: phase tests/test_halo.py::test_next; before: test_send failed\n"),
            R"(classname="tests.test_halo" name="test_send")");
  EXPECT_EQ(CaseOf("1: phase a/test_b.py::TestC::test_d[x::y]; setup\n"
                   "2,3: phase a/test_b.py::TestC::test_d[x::y]\n"),
            R"(classname="a.test_b.TestC" name="test_d[x::y]")");
  EXPECT_EQ(CaseOf("1-3: phase tests/halo.c::<send>&\n"),
            R"(classname="tests.halo.c" name="&lt;send&gt;&amp;")");
  EXPECT_EQ(CaseOf("1,2: phase a.py::test_a\n3: phase a.py::test_b\n"), kind) << "they disagree";
  EXPECT_EQ(CaseOf("1,2: phase a.py::test_a\n"
                   "3: phase a.py::test_b; before: test_a failed\n"),
            R"(classname="a" name="test_a")")
      << "one has gone on";
  EXPECT_EQ(CaseOf("1-3: phase a.py::test_b; before: test_a failed\n"),
            R"(classname="a" name="test_b")")
      << "all have gone on";
  EXPECT_EQ(CaseOf("1,2: phase a.py::test_a\n"), kind) << "one says nothing";
  EXPECT_EQ(CaseOf("0: phase a.py::test_a\n"), kind) << "it is not the waiting ranks'";
  EXPECT_EQ(CaseOf("1-3: phase assembling\n"), kind) << "no test";
  EXPECT_EQ(CaseOf("1-3: phase [::]::\n"), kind) << "no test either";
}

TEST(ExportJson, FindingHasThePhasesOfItsRanks) {
  const auto phases_of = [](const std::string& phases) {
    const std::string text = Checked(kExportedTrace + phases).Export("json");
    return nlohmann::json::parse(text)["findings"][0]["phases"].dump();
  };
  EXPECT_EQ(phases_of(""), "[]");
  EXPECT_EQ(phases_of("1-3: phase first\n0: phase second; before: x\n"),
            R"([{"ranks":[0],"text":"second; before: x"},{"ranks":[1,2,3],"text":"first"}])");
}

std::vector<ScheduleOutcome> OneOfEachResult() {
  using Result = ScheduleOutcome::Result;
  std::vector<ScheduleOutcome> rows;
  for (const Result result : {Result::kSameOutput, Result::kOtherOutput, Result::kHang,
                              Result::kFindings, Result::kFailed, Result::kNotExplored}) {
    ScheduleOutcome row;
    row.result = result;
    row.title = "rank <1> first";
    row.why = "because";
    row.plan = "/run/steer.plan";
    row.seconds = 0.5;
    rows.push_back(row);
  }
  return rows;
}

TEST(ExportJunit, HasACaseForEachSchedule) {
  Checked checked(kExportedTrace);
  const std::string before = checked.Export("junit");
  EXPECT_THAT(before, Not(HasSubstr("rollcall.schedules")));
  checked.judgement()->schedules = OneOfEachResult();
  const std::string text = checked.Export("junit");
  EXPECT_THAT(text, HasSubstr(R"(tests="8" failures="3" errors="1")"));
  EXPECT_THAT(text, HasSubstr(R"(skipped="1")"));
  EXPECT_THAT(
      text, HasSubstr(R"(classname="rollcall.schedules" name="rank &lt;1&gt; first" time="0.500">)"
                      "<skipped>not explored: because</skipped>"));
  EXPECT_THAT(text, HasSubstr(R"(<error type="job-failed" message="failed: because">)"));
  EXPECT_THAT(text, HasSubstr(R"(<failure type="schedule" message="hang: because">)"));
  EXPECT_THAT(text, HasSubstr(R"(<failure type="schedule" message="findings: because">)"));
}

TEST(ExportJson, HasARowForEachSchedule) {
  Checked checked(kExportedTrace);
  EXPECT_FALSE(nlohmann::json::parse(checked.Export("json")).contains("schedules"));
  checked.judgement()->schedules = OneOfEachResult();
  const auto rows = nlohmann::json::parse(checked.Export("json"))["schedules"];
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[2]["result"], "hang");
  EXPECT_EQ(rows[2]["title"], "rank <1> first");
  EXPECT_EQ(rows[2]["why"], "because");
  EXPECT_EQ(rows[2]["plan"], "/run/steer.plan");
  EXPECT_EQ(rows[2]["seconds"], 0.5);
}

TEST(ExportSarif, FilesBelowTheRootAreRelativeAndEncoded) {
  Checked checked(kExportedTrace);
  std::vector<Site>& sites = checked.report()->findings.front().sites;
  sites[0].frame.file = "/usr/share/my code/x.c";
  sites[1].frame.file = "/src/größe #1.c";
  const auto result = nlohmann::json::parse(checked.Export("sarif"))["runs"][0]["results"][0];
  const auto uri = [](const auto& location) {
    return location["physicalLocation"]["artifactLocation"]["uri"];
  };
  EXPECT_EQ(uri(result["locations"][0]), "gr%C3%B6%C3%9Fe%20%231.c");
  EXPECT_EQ(uri(result["relatedLocations"][0]), "file:///usr/share/my%20code/x.c");
}

std::string FingerprintOf(Checked* checked) {
  return Fingerprint(checked->report()->findings.front());
}

TEST(Fingerprint, DoesNotDependOnLinesAndRanks) {
  Checked before(kExportedTrace);
  std::string text = kExportedTrace;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{":88)", ":188)"},
                                 {":97)", ":197)"},
                                 {"ranks 4", "ranks 8"},
                                 {"0-3:", "0-7:"},
                                 {"1-3:", "1-7:"}}) {
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  Checked after(text);
  EXPECT_EQ(FingerprintOf(&before), FingerprintOf(&after));
}

TEST(Fingerprint, DependsOnFunctionAndKind) {
  Checked before(kExportedTrace);
  Checked other(kExportedTrace);
  for (Site& site : other.report()->findings.front().sites) site.frame.function = "finish";
  EXPECT_NE(FingerprintOf(&before), FingerprintOf(&other));
  Checked kind(kExportedTrace);
  kind.report()->findings.front().kind = VerdictKind::kDesync;
  EXPECT_NE(FingerprintOf(&before), FingerprintOf(&kind));
}

TEST(VerdictPages, EveryKindHasACompletePage) {
  std::ifstream list(std::string(ROLLCALL_SOURCE_DIR) + "/docs/verdicts/README.md");
  const std::string rows{std::istreambuf_iterator<char>(list), {}};
  for (const KindRow& row : kKinds) {
    const std::string name(row.name);
    EXPECT_THAT(VerdictPage(row.kind), StartsWith("# " + name + "\n"));
    EXPECT_GT(VerdictSummary(row.kind).size(), 20U) << name;
    EXPECT_THAT(rows, HasSubstr("[" + name + "](" + name + ".md)"));
    EXPECT_THAT(VerdictSummary(row.kind), Not(HasSubstr("\n")));
    EXPECT_THAT(VerdictHelp(row.kind), AllOf(Not(HasSubstr("](")), Not(HasSubstr("<!--")))) << name;
  }
}

}  // namespace
}  // namespace rollcall
