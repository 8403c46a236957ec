// SPDX-License-Identifier: Apache-2.0
// docs/diagnosis.md follows one trace to its verdict. Each block that the page shows is made again
// and compared:
//
//   <!-- shown: waits -->
//   ```
//   …
//   ```
//
// With ROLLCALL_UPDATE_GOLDEN=1 the blocks are written into the page first; review the difference.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "collector/diagnosis/detectors/divergence.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"
#include "collector/report/show.h"
#include "collector/report/text_report.h"
#include "tests/support/text_trace.h"

namespace rollcall {
namespace {

const std::string kDiagnosisPage = std::string(ROLLCALL_SOURCE_DIR) + "/docs/diagnosis.md";
const std::string kDiagnosisTrace =
    std::string(ROLLCALL_SOURCE_DIR) + "/tests/golden/verdicts/rounds_skipped_one_exchange.trace";

std::string ContentsOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string IncidentName(const Incident& incident) {
  constexpr const char* kNames[] = {
#define INCIDENT(identifier, ...) #identifier,
#include "collector/diagnosis/detectors/incidents.def"
#undef INCIDENT
  };
  return kNames[static_cast<size_t>(incident.what)];
}

std::string IncidentLines(const Analysis& analysis, const std::vector<Incident>& incidents) {
  std::string text = incidents.empty() ? "none\n" : "";
  for (const Incident& incident : incidents) {
    text += fmt::format("{}: deviating {}, agreeing {}\n", IncidentName(incident),
                        FoldRanks(analysis.RanksOf(incident.deviating)),
                        FoldRanks(analysis.RanksOf(incident.agreeing)));
  }
  return text;
}

// One line for each dependency of each process.
std::string WaitLines(const Analysis& analysis) {
  std::string text;
  for (uint32_t p = 0; p < analysis.graph.processes.size(); ++p) {
    for (const WaitDependency& dependency : analysis.graph.processes[p].dependencies) {
      std::string awaited;
      if (dependency.node != kNoIndex) {
        const CollectiveNode& node = analysis.graph.nodes[dependency.node];
        awaited = fmt::format("{} #{}, which lacks rank {}",
                              OperationName(analysis.Op(*dependency.event)), node.sequence,
                              FoldRanks(analysis.RanksOf(node.missing)));
      } else {
        awaited = fmt::format("rank {} to {} a message", analysis.RankOf(dependency.process),
                              dependency.sends ? "receive" : "send");
      }
      text += fmt::format("rank {} waits for {}: {}\n", analysis.RankOf(p), awaited,
                          analysis.IsStuckStrictly(p) ? "stuck" : "may continue");
    }
  }
  return text;
}

std::string DivergenceLines(const Divergence& divergence) {
  const PathDivergence& paths = divergence.path_divergence;
  return fmt::format(
      "agreeing side   {}:{}, loops that contain only this call: {}\n"
      "deviating side  {}:{}, loops that contain only this call: {}\n"
      "skipped {}, uneven {}, order open {}\n",
      paths.a.function, paths.a.line, paths.loops_a.size(), paths.b.function, paths.b.line,
      paths.loops_b.size(), divergence.skipped, divergence.uneven, divergence.order_open);
}

// What the page shows, by the names of the blocks.
std::map<std::string, std::string> DiagnosisSteps() {
  std::map<std::string, std::string> steps;
  const std::string file = ContentsOf(kDiagnosisTrace);
  steps["trace"] = file.substr(0, file.find("expect:\n"));
  const TextTraceResult parsed = ParseTextTrace(steps["trace"]);
  EXPECT_EQ(parsed.errors, std::vector<std::string>{});
  const DiagnoseOptions options;
  const Report report = Diagnose(parsed.trace, options);
  const AnalyzedTrace analyzed = Analyze(parsed.trace, options);
  const Analysis& analysis = analyzed.analysis;
  steps["calls"] = ShowTable(analysis, report, {.communicator = "", .around = 9}).text;
  steps["messages"] = ShowMessages(analysis, "", -1).text;
  steps["call incidents"] = IncidentLines(analysis, analyzed.call_incidents);
  steps["waits"] = WaitLines(analysis);
  std::vector<Incident> cycles;
  FindCycles(analysis, &cycles);
  steps["cycles"] = IncidentLines(analysis, cycles);
  const std::vector<Incident> incidents = FindIncidents(analysis, analyzed.call_incidents);
  steps["incidents"] = IncidentLines(analysis, incidents);
  EXPECT_EQ(incidents.size(), 1U);
  if (incidents.empty()) return steps;
  steps["divergence"] = DivergenceLines(FindDivergence(analysis, incidents.front()));
  EXPECT_EQ(report.findings.size(), 1U);
  if (report.findings.empty()) return steps;
  const Finding& finding = report.findings.front();
  steps["certainty"] =
      fmt::format("the job hangs: {}\nthe cause is {}: {}\n", CertaintyName(finding.certainty),
                  KindName(finding.kind), CertaintyName(finding.kind_certainty));
  steps["verdict"] = RenderText(parsed.trace, report);
  return steps;
}

TEST(DiagnosisPage, ShowsWhatTheStepsGive) {
  const std::string fence = "```\n";
  std::string page = ContentsOf(kDiagnosisPage);
  const bool update = std::getenv("ROLLCALL_UPDATE_GOLDEN") != nullptr;
  for (const auto& [name, text] : DiagnosisSteps()) {
    const std::string head = "<!-- shown: " + name + " -->\n" + fence;
    const size_t at = page.find(head);
    ASSERT_NE(at, std::string::npos) << kDiagnosisPage << " does not show: " << name;
    const size_t from = at + head.size();
    const size_t length = page.find(fence, from) - from;
    if (update) {
      page.replace(from, length, text);
    } else {
      EXPECT_EQ(page.substr(from, length), text) << name;
    }
  }
  if (update) std::ofstream(kDiagnosisPage) << page;
}

}  // namespace
}  // namespace rollcall
