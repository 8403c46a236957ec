// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/verdict/finding.h"

#include <map>
#include <set>
#include <utility>

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// For text. JSON lists all hosts.
constexpr size_t kMaxHosts = 8;

}  // namespace

std::vector<int32_t> RanksOf(const Finding& finding) {
  std::vector<int32_t> ranks = finding.culprits;
  ranks.insert(ranks.end(), finding.waiting.begin(), finding.waiting.end());
  for (const Site& site : finding.sites) {
    ranks.insert(ranks.end(), site.ranks.begin(), site.ranks.end());
  }
  Normalize(&ranks);
  return ranks;
}

uint32_t CountHosts(const Trace& trace) {
  std::set<std::string_view> hosts;
  for (const Process& process : trace.processes) {
    if (!process.host.empty()) hosts.insert(process.host);
  }
  return static_cast<uint32_t>(hosts.size());
}

std::vector<HostRanks> HostsOf(const Trace& trace, const Finding& finding) {
  std::vector<HostRanks> hosts;
  std::map<std::pair<std::string_view, int32_t>, size_t> places;
  for (const int32_t rank : finding.culprits) {
    const uint32_t index = ProcessOf(trace, finding.world, rank);
    if (index == kNoIndex || trace.processes[index].host.empty()) continue;
    const Process& process = trace.processes[index];
    const auto [place, is_new] =
        places.try_emplace({process.host, process.device_number}, hosts.size());
    if (is_new) hosts.push_back({process.host, process.device_number, {}});
    hosts[place->second].ranks.push_back(rank);
  }
  return hosts;
}

std::string HostsText(const std::vector<HostRanks>& hosts) {
  std::string text;
  for (size_t i = 0; i < hosts.size() && i < kMaxHosts; ++i) {
    if (i != 0) text += "; ";
    text += RanksPhrase(hosts[i].ranks) + " on " + hosts[i].host;
    if (hosts[i].device >= 0) text += " (GPU " + std::to_string(hosts[i].device) + ")";
  }
  if (hosts.size() > kMaxHosts) {
    text += "; and " + std::to_string(hosts.size() - kMaxHosts) + " more";
  }
  return text;
}

std::string KindText(const Finding& finding) {
  std::string text(KindName(finding.kind));
  if (finding.kind_certainty == finding.certainty) return text;
  return text.append(" (").append(CertaintyName(finding.kind_certainty)).append(")");
}

std::string FixText(const Finding& finding) {
  return finding.fix.empty() ? std::string(KindFix(finding.kind)) : finding.fix;
}

}  // namespace rollcall
