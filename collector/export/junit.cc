// SPDX-License-Identifier: Apache-2.0
// JUnit XML as Jenkins and GitLab read it; tests/schemas has the schema. There is one test case for
// the job itself, one for each finding, and one for each steered run.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/base/text.h"
#include "collector/diagnosis/wording/phases.h"
#include "collector/export/exporter.h"
#include "collector/export/markup.h"
#include "collector/export/places.h"

namespace rollcall {
namespace {

constexpr size_t kMaxBytes = 1 << 16;  // per line

// XML 1.0 allows neither control characters nor invalid UTF-8.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    // In an attribute, a literal newline would be read as a space.
    if (begin != 0) escaped += "&#10;";
    escaped += EscapeMarkup(CleanText(text.substr(begin, end - begin), kMaxBytes));
    begin = end + 1;
  }
  return escaped;
}

struct Case {
  std::string name;
  std::string class_name;
  double seconds = 0;
  std::string body = {};  // XML
  enum class Result : uint8_t { kPassed, kFailed, kError, kSkipped } result = Result::kPassed;
};

Case JobCase(const JobOutcome& job, bool explained) {
  Case result;
  result.class_name = "rollcall";
  result.name = "the job ends well";
  result.seconds = job.seconds;
  // If a finding explains the failure, only the finding is reported as failed.
  if (job.exit_code == 0 || explained) return result;
  const std::string why = job.ended_by_rollcall
                              ? "rollcall ended the job"
                              : fmt::format("the job ended with exit code {}", job.exit_code);
  result.result = Case::Result::kError;
  result.body = fmt::format(R"(<error type="job-failed" message="{0}">{0}: {1}</error>)",
                            Escape(why), Escape(fmt::format("{}", fmt::join(job.command, " "))));
  return result;
}

// The name of the test case. CI identifies a case across runs by its name, so the name does not
// depend on ranks and lines.
std::string NameOf(const Finding& finding) {
  const Site* site = PrimarySite(finding);
  if (site == nullptr || site->frame.function.empty()) return std::string(KindName(finding.kind));
  return fmt::format("{} in {}", KindName(finding.kind), site->frame.function);
}

// The test FILE::TEST that the waiting ranks are in, if their phases agree. If the phases differ,
// only ranks that have not failed before count, because the others have continued to later tests.
std::string_view TestOf(const Finding& finding) {
  std::set<std::string_view> all, unfailed;
  ptrdiff_t ranks = static_cast<ptrdiff_t>(finding.waiting.size());
  for (const RanksPhase& phase : finding.phases) {
    const auto waiting = std::ranges::count_if(phase.ranks, [&finding](int32_t rank) {
      return std::ranges::binary_search(finding.waiting, rank);
    });
    if (waiting == 0) continue;
    ranks -= waiting;
    all.insert(PhaseName(phase.text));
    if (!FailedBefore(phase.text)) unfailed.insert(PhaseName(phase.text));
  }
  const std::set<std::string_view>& tests = all.size() == 1 ? all : unfailed;
  if (ranks != 0 || tests.size() != 1) return {};
  return tests.begin()->find("::") == std::string_view::npos ? std::string_view() : *tests.begin();
}

// Names the case as pytest does in its own report: "tests/test_halo.py::TestRing::test_send[a::b]"
// is the case "test_send[a::b]" of the class "tests.test_halo.TestRing" (_pytest/junitxml.py,
// mangle_test_address).
void NameAsTest(std::string_view test, Case* result) {
  const size_t parameters = std::min(test.find('['), test.size());
  const size_t last = test.rfind("::", parameters);
  if (last == test.npos) return;
  result->name = test.substr(last + 2);
  std::string file(test.substr(0, test.find("::")));
  if (file.ends_with(".py")) file.resize(file.size() - 3);
  std::replace(file.begin(), file.end(), '/', '.');
  result->class_name = file;
  for (size_t at = test.find("::"); at < last;) {
    const size_t next = test.find("::", at + 2);
    result->class_name += fmt::format(".{}", test.substr(at + 2, next - at - 2));
    at = next;
  }
}

Case FindingCase(const Trace& trace, const Finding& finding, const Ruling& ruling) {
  Case result;
  result.class_name = fmt::format("rollcall.{}", KindName(finding.kind));
  result.name = NameOf(finding);
  NameAsTest(TestOf(finding), &result);
  const std::string text = Escape(FindingText(trace, finding));
  switch (ruling.weight) {
    case Ruling::Weight::kFails:
      result.result = Case::Result::kFailed;
      result.body = fmt::format(R"(<failure type="{}" message="{}">{}</failure>)",
                                KindName(finding.kind), Escape(finding.title), text);
      break;
    case Ruling::Weight::kKnown:
      result.result = Case::Result::kSkipped;
      result.body = fmt::format("<skipped>known: {}</skipped><system-out>{}</system-out>",
                                Escape(ruling.reason), text);
      break;
    case Ruling::Weight::kWarning:
    case Ruling::Weight::kNote:
      result.body = fmt::format("<system-out>{}</system-out>", text);
      break;
  }
  return result;
}

// The findings of one hang have cases of their own as well: of several, only one is told in full.
Case ScheduleCase(const ScheduleOutcome& schedule) {
  Case result;
  result.name = schedule.title;
  result.class_name = "rollcall.schedules";
  result.seconds = schedule.seconds;
  const std::string name(ScheduleResultName(schedule.result));
  const std::string text =
      Escape(schedule.why.empty() ? name : fmt::format("{}: {}", name, schedule.why));
  switch (schedule.result) {
    case ScheduleOutcome::Result::kFailed:
      result.result = Case::Result::kError;
      result.body = fmt::format(R"(<error type="job-failed" message="{0}">{0}</error>)", text);
      break;
    case ScheduleOutcome::Result::kNotExplored:
      result.result = Case::Result::kSkipped;
      result.body = fmt::format("<skipped>{}</skipped>", text);
      break;
    case ScheduleOutcome::Result::kHang:
    case ScheduleOutcome::Result::kFindings:
      result.result = Case::Result::kFailed;
      result.body = fmt::format(R"(<failure type="schedule" message="{0}">{0}</failure>)", text);
      break;
    case ScheduleOutcome::Result::kSameOutput:
    case ScheduleOutcome::Result::kOtherOutput:
      result.body = fmt::format("<system-out>{}</system-out>", text);
      break;
  }
  return result;
}

std::vector<Case> Cases(const Subject& subject) {
  std::vector<Case> cases;
  const Judgement& judgement = subject.judgement;
  if (judgement.job) cases.push_back(JobCase(*judgement.job, judgement.Fails()));
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < subject.report.findings.size(); ++i) {
    Case next = FindingCase(subject.trace, subject.report.findings[i], judgement.rulings[i]);
    const size_t before = seen[next.name]++;
    if (before != 0) next.name += fmt::format(" ({})", before + 1);
    cases.push_back(std::move(next));
  }
  for (const ScheduleOutcome& schedule : judgement.schedules) {
    cases.push_back(ScheduleCase(schedule));
  }
  if (cases.empty()) cases.push_back({.name = "nothing found", .class_name = "rollcall"});
  return cases;
}

}  // namespace

void ExportJunit(const Subject& subject, std::ostream& out) {
  const std::vector<Case> cases = Cases(subject);
  std::map<Case::Result, size_t> counts;
  for (const Case& item : cases) ++counts[item.result];
  const std::string time =
      fmt::format("{:.3f}", subject.judgement.job ? subject.judgement.job->seconds : 0.0);
  const std::string totals =
      fmt::format(R"(name="rollcall" time="{}" tests="{}" failures="{}" errors="{}")", time,
                  cases.size(), counts[Case::Result::kFailed], counts[Case::Result::kError]);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      << fmt::format("<testsuites {}>\n  <testsuite {} skipped=\"{}\">\n", totals, totals,
                     counts[Case::Result::kSkipped]);
  for (const Case& item : cases) {
    out << fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")",
                       Escape(item.class_name), Escape(item.name), item.seconds);
    out << (item.body.empty() ? "/>\n" : fmt::format(">{}</testcase>\n", item.body));
  }
  out << "  </testsuite>\n</testsuites>\n";
}

}  // namespace rollcall
