// SPDX-License-Identifier: Apache-2.0
// SARIF 2.1.0, for code review and editors: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
// Section numbers below are of that document.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collector/export/exporter.h"
#include "collector/export/places.h"
#include "collector/export/verdict_pages.h"
#include "collector/matching/match_rules.h"
#include "collector/report/json_report.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "https://json.schemastore.org/sarif-2.1.0.json";
constexpr std::string_view kRoot = "SRCROOT";
constexpr std::string_view kFingerprintName = "rollcall/v1";  // 3.27.17: with a version number

std::string_view Level(Ruling::Weight weight) {
  switch (weight) {
    case Ruling::Weight::kFails:
    case Ruling::Weight::kKnown:  // an error that is suppressed
      return "error";
    case Ruling::Weight::kWarning:
      return "warning";
    case Ruling::Weight::kNote:
      return "note";
  }
  return "error";
}

// Characters that RFC 3986 allows in a path stay. All other bytes are encoded.
std::string PercentEncode(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/+@,=").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json Text(const std::string& text) { return Json{{"text", text}}; }

class SarifWriter {
 public:
  explicit SarifWriter(const Subject& subject) : subject_(subject) {}

  Json Log() {
    Json run;
    Json results = Json::array();
    for (size_t i = 0; i < subject_.report.findings.size(); ++i) {
      results.push_back(Result(subject_.report.findings[i], subject_.judgement.rulings[i]));
    }
    run["tool"]["driver"] = Driver();
    if (!subject_.source_root.empty()) {
      // 3.14.14: the URI ends in a slash.
      const std::string root = subject_.source_root == "/" ? "" : subject_.source_root;
      run["originalUriBaseIds"][std::string(kRoot)]["uri"] = "file://" + PercentEncode(root) + "/";
    }
    if (subject_.judgement.job) run["invocations"] = Json::array({Invocation()});
    run["columnKind"] = "utf16CodeUnits";
    run["results"] = std::move(results);
    Json log;
    log["$schema"] = kSchema;
    log["version"] = "2.1.0";
    log["runs"] = Json::array({std::move(run)});
    return log;
  }

 private:
  Json Driver() const {
    Json driver;
    driver["name"] = "rollcall";
    driver["version"] = subject_.version;
    driver["semanticVersion"] = subject_.version;
    driver["rules"] = Json::array();
    for (const VerdictKind kind : kinds_) driver["rules"].push_back(RuleOf(kind));
    return driver;
  }

  static Json RuleOf(VerdictKind kind) {
    const std::string help = VerdictHelp(kind);
    Json rule;
    rule["id"] = KindName(kind);
    rule["shortDescription"] = Text(VerdictSummary(kind));
    rule["help"] = Json{{"text", help}, {"markdown", help}};
    rule["defaultConfiguration"]["level"] =
        KindSeverity(kind) == Severity::kNote ? "note" : "error";
    return rule;
  }

  Json Invocation() const {
    const JobOutcome& job = *subject_.judgement.job;
    Json invocation;
    invocation["commandLine"] = fmt::format("{}", fmt::join(job.command, " "));
    invocation["exitCode"] = job.exit_code;
    // True even if the job failed: the property describes rollcall, which has reached a verdict.
    invocation["executionSuccessful"] = true;
    return invocation;
  }

  Json Result(const Finding& finding, const Ruling& ruling) {
    Json result;
    result["ruleId"] = KindName(finding.kind);
    result["ruleIndex"] = RuleIndex(finding.kind);
    result["level"] = Level(ruling.weight);
    result["message"] = Text(FindingText(subject_.trace, finding));
    const Site* primary = PrimarySite(finding);
    if (primary != nullptr) {
      result["locations"] = Json::array({Location(primary->frame)});
    }
    Json related = Json::array();
    Json stacks = Json::array();
    for (const Site& site : finding.sites) {
      if (site.frame.line != 0) {
        Json location = Location(site.frame);
        location["id"] = related.size() + 1;
        location["message"] = Text(SiteText(site));
        related.push_back(std::move(location));
      }
      Json stack = Stack(site);
      if (!stack.is_null()) stacks.push_back(std::move(stack));
    }
    if (!related.empty()) result["relatedLocations"] = std::move(related);
    if (!stacks.empty()) result["stacks"] = std::move(stacks);
    result["partialFingerprints"][std::string(kFingerprintName)] = UniqueFingerprint(finding);
    if (ruling.weight == Ruling::Weight::kKnown) {
      result["suppressions"] = Json::array(
          {Json{{"kind", "external"}, {"status", "accepted"}, {"justification", ruling.reason}}});
    }
    result["properties"] = Properties(finding);
    return result;
  }

  size_t RuleIndex(VerdictKind kind) {
    const auto found = std::ranges::find(kinds_, kind);
    if (found != kinds_.end()) return static_cast<size_t>(found - kinds_.begin());
    kinds_.push_back(kind);
    return kinds_.size() - 1;
  }

  // Findings of one kind in the same functions are numbered in their order.
  std::string UniqueFingerprint(const Finding& finding) {
    const std::string fingerprint = Fingerprint(finding);
    const size_t before = seen_[fingerprint]++;
    return before == 0 ? fingerprint : fmt::format("{}/{}", fingerprint, before);
  }

  // See 3.28. If the file is not a real one ("<string>", an address without a line), the location
  // has only the function.
  Json Location(const SourceFrame& frame) const {
    Json location = Json::object();
    if (!frame.file.empty() && !frame.file.starts_with('<')) {
      Json artifact;
      const std::string relative = RelativeTo(subject_.source_root, frame.file);
      if (relative.starts_with('/')) {
        artifact["uri"] = "file://" + PercentEncode(relative);
      } else {
        artifact["uri"] = PercentEncode(relative);
        if (!subject_.source_root.empty()) artifact["uriBaseId"] = kRoot;
      }
      location["physicalLocation"]["artifactLocation"] = std::move(artifact);
      if (frame.line != 0) location["physicalLocation"]["region"]["startLine"] = frame.line;
    }
    if (!frame.function.empty()) {
      location["logicalLocations"] =
          Json::array({Json{{"fullyQualifiedName", frame.function}, {"kind", "function"}}});
    }
    return location;
  }

  Json Stack(const Site& site) const {
    Json frames = Json::array();
    for (const SourceFrame* frame : FramesOf(subject_.trace, site.call_path)) {
      Json location = Location(*frame);
      if (location.empty()) continue;
      Json entry;
      entry["location"] = std::move(location);
      if (!frame->module.empty()) entry["module"] = frame->module;
      frames.push_back(std::move(entry));
    }
    if (frames.empty()) return nullptr;
    return Json{{"message", Text(SiteText(site))}, {"frames", std::move(frames)}};
  }

  Json Properties(const Finding& finding) const {
    Json properties;
    properties["certainty"] = CertaintyName(finding.certainty);
    properties["kind_certainty"] = CertaintyName(finding.kind_certainty);
    properties["hangs"] = finding.hangs;
    properties["culprits"] = finding.culprits;
    properties["waiting"] = finding.waiting;
    if (finding.communicator != kNoIndex) {
      properties["communicator"] = subject_.trace.communicators[finding.communicator].name;
    }
    if (finding.operation != Operation::kNone) {
      properties["operation"] = OperationName(finding.operation);
    }
    if (finding.sequence != 0) properties["sequence"] = finding.sequence;
    return properties;
  }

  const Subject& subject_;
  std::vector<VerdictKind> kinds_;  // of the results, by rule index
  std::map<std::string, size_t> seen_;
};

}  // namespace

void ExportSarif(const Subject& subject, std::ostream& out) {
  out << ToText(SarifWriter(subject).Log());
}

}  // namespace rollcall
