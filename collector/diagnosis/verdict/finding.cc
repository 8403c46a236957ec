#include "collector/diagnosis/verdict/finding.h"

#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

// JSON has all of them.
constexpr size_t kMaxHosts = 8;

}  // namespace

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

}  // namespace rollcall
