// SPDX-License-Identifier: Apache-2.0
#include "collector/export/places.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <vector>

#include "collector/diagnosis/wording/values.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "collector/report/names.h"
#include "collector/report/stack_tree.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

// FNV-1a, which is equal on every machine and in every version. std::hash does not guarantee that.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

const Site* PrimarySite(const Finding& finding) {
  const Site* any = nullptr;
  for (const Site& site : finding.sites) {
    if (site.frame.line == 0 || site.frame.file.empty()) continue;
    if (site.culprit) return &site;
    if (any == nullptr) any = &site;
  }
  return any;
}

std::string SiteText(const Site& site) {
  std::string text = fmt::format("{} {}", RanksPhrase(site.ranks), RoleName(site.role));
  if (!site.what.empty()) text += ": " + site.what;
  const std::string place = FramePlace(site.frame);
  if (place != "?") text += " at " + place;
  if (!site.frame.function.empty()) text += " in " + FunctionText(site.frame);
  return text;
}

std::string FindingText(const Trace& trace, const Finding& finding) {
  std::string text = finding.title;
  for (const Site& site : finding.sites) text += "\n" + SiteText(site);
  const std::string hosts = HostsText(finding.culprit_hosts);
  if (!hosts.empty()) text += "\nhost: " + hosts;
  if (!finding.why.empty()) text += "\nwhy: " + finding.why;
  text += "\nfix: " + FixText(finding);
  text += fmt::format("\n{}, {}", KindText(finding), CertaintyName(finding.certainty));
  for (const std::string& value : ValueTexts(finding)) text += "\nvalue: " + value;
  for (const std::string& note : finding.notes) text += "\nnote: " + note;
  const std::vector<RankStack> live = LiveStacksOf(trace, finding, /*full=*/false);
  if (!live.empty()) text += "\nstacks:";
  for (const std::string& line : StackTreeLines(StackTree(live, false))) text += "\n  " + line;
  return text;
}

std::string Fingerprint(const Finding& finding) {
  // Sites of one function that make the same call count once, and their order does not matter.
  std::set<std::string> parts;
  for (const Site& site : finding.sites) {
    const std::string file = site.frame.file.substr(site.frame.file.rfind('/') + 1);
    const std::string call = site.what.substr(0, site.what.find_first_of(" #("));
    parts.insert(fmt::format("{}\n{}\n{}\n{}", site.culprit, file, site.frame.function, call));
  }
  std::string key =
      fmt::format("{}\n{}", KindName(finding.kind),
                  finding.operation == Operation::kNone ? "" : OperationName(finding.operation));
  for (const std::string& part : parts) key += "\n" + part;
  return fmt::format("{:016x}", Hash(key));
}

}  // namespace rollcall
