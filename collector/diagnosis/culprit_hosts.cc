#include "collector/diagnosis/culprit_hosts.h"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace rollcall {

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

}  // namespace rollcall
