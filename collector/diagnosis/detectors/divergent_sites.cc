// SPDX-License-Identifier: Apache-2.0
// Finds calls with one sequence number that ranks made from different places. Usually two arms of a
// branch make the same call; sometimes calls match by chance.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

// The processes that made call `sequence`, by call site; empty if a record is missing.
std::map<uint32_t, std::vector<uint32_t>> BySite(const Analysis& analysis,
                                                 const CommunicatorHistory& histories,
                                                 uint64_t sequence) {
  std::map<uint32_t, std::vector<uint32_t>> sites;
  for (const MemberHistory& history : histories.members) {
    const Event* event = history.At(sequence);
    const uint32_t site = event == nullptr ? 0 : analysis.sites.Id(event->call_path);
    if (site == 0) return {};
    sites[site].push_back(history.process);
  }
  return sites;
}

Incident SiteIncident(const Analysis& analysis, const CommunicatorHistory& histories,
                      uint64_t sequence, const std::map<uint32_t, std::vector<uint32_t>>& sites) {
  Incident incident;
  incident.what = Incident::What::kSites;
  incident.communicator = histories.communicator;
  incident.sequence = sequence;
  incident.tie = true;  // no side is wrong
  const auto most = std::ranges::max_element(
      sites, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (auto site = sites.begin(); site != sites.end(); ++site) {
    std::vector<uint32_t>& side = site == most ? incident.agreeing : incident.deviating;
    side.insert(side.end(), site->second.begin(), site->second.end());
  }
  incident.agreeing_event =
      analysis.HistoryOf(histories.communicator, incident.agreeing[0])->At(sequence);
  incident.deviating_event =
      analysis.HistoryOf(histories.communicator, incident.deviating[0])->At(sequence);
  return incident;
}

}  // namespace

void FindDivergentSites(const Analysis& analysis, std::vector<Incident>* incidents) {
  for (const CommunicatorHistory& histories : analysis.histories) {
    if (!histories.ordered || histories.members.size() < 2) continue;
    uint64_t first = 1;
    uint64_t last = histories.highest;
    for (const MemberHistory& history : histories.members) {
      first = std::max(first, history.first);
      last = std::min(last, history.last);
    }
    // Repetitions from the same places, as in a loop, are one incident.
    std::map<std::set<uint32_t>, size_t> known;
    for (uint64_t sequence = first; sequence <= last; ++sequence) {
      const auto sites = BySite(analysis, histories, sequence);
      if (sites.size() < 2) continue;
      std::set<uint32_t> key;
      for (const auto& [site, members] : sites) key.insert(site);
      const auto [entry, added] = known.emplace(std::move(key), incidents->size());
      if (added) {
        incidents->push_back(SiteIncident(analysis, histories, sequence, sites));
      } else {
        ++(*incidents)[entry->second].repeated;
      }
    }
  }
}

}  // namespace rollcall
