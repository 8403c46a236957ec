// SPDX-License-Identifier: Apache-2.0
// Finds a rank that is always the last to arrive, in a job that moves.
//
// Clocks of different hosts are not compared. In some collectives every member waits for every
// other (MPI 4.0, 6.1: an allreduce cannot return before all members have called it). All members
// leave such a collective together, apart from its own cost. So the last member to arrive stays for
// the shortest time, and the others waited for that member for as long as they stayed longer. If
// rank 0 is in an allreduce for 9 ms, rank 1 for 10 ms and rank 2 for 1 ms, rank 2 arrived last,
// and the others waited at least 8 ms for it alone.
#include <algorithm>
#include <map>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

// Beyond these thresholds a late rank is no accident: the number of collectives, the share at which
// the rank was last, and the time that the others lost by it, each time and in total.
constexpr uint64_t kFewestCollectives = 20;
constexpr uint64_t kLastInPercent = 90;
constexpr int64_t kMinWaitNs = 100'000;
constexpr int64_t kMinLossPercent = 10;

bool AllWaitForAll(Operation operation) {
  const OperationInfo& info = FindOperation(static_cast<uint16_t>(operation));
  const Needs needs = NeedsOf(info.rule);
  return info.kind == Kind::kCollective &&
         (needs == Needs::kAll || needs == Needs::kAllIfCounted || info.rule == Rule::kAllgatherv);
}

struct Arrivals {
  std::map<uint32_t, std::vector<int64_t>> last;  // by member: how long the others waited for it
  uint64_t collectives = 0;
  uint64_t sequence = 0;  // of the newest collective
  int64_t elapsed_ns = 0;
};

Arrivals Collect(const Analysis& analysis, const CommunicatorHistory& histories) {
  Arrivals arrivals;
  uint64_t first = 1;
  uint64_t last = ~uint64_t{0};
  for (const MemberHistory& history : histories.members) {
    first = std::max(first, history.first);
    last = std::min(last, history.last);
  }
  int64_t began_ns = kNoTime;
  for (uint64_t n = first; n <= last; ++n) {
    std::vector<int64_t> stays;
    const Event* reference = nullptr;
    for (const MemberHistory& history : histories.members) {
      const Event* event = history.At(n);
      if (event == nullptr || event->start_ns == kNoTime || event->end_ns == kNoTime ||
          event->end_ns < event->start_ns || !AllWaitForAll(analysis.Op(*event))) {
        break;
      }
      if (reference == nullptr) reference = event;
      if (analysis.Op(*event) != analysis.Op(*reference)) break;
      stays.push_back(event->end_ns - event->start_ns);
    }
    if (reference == nullptr || stays.size() != histories.members.size()) continue;
    ++arrivals.collectives;
    arrivals.sequence = n;
    if (began_ns == kNoTime) began_ns = reference->start_ns;
    arrivals.elapsed_ns = reference->end_ns - began_ns;
    const auto shortest = std::ranges::min_element(stays);
    const auto member = static_cast<uint32_t>(shortest - stays.begin());
    const int64_t stay = *shortest;
    *shortest = INT64_MAX;
    arrivals.last[member].push_back(*std::ranges::min_element(stays) - stay);
  }
  return arrivals;
}

bool Judge(const Analysis& analysis, const CommunicatorHistory& histories, Incident* incident) {
  Arrivals arrivals = Collect(analysis, histories);
  if (arrivals.collectives < kFewestCollectives) return false;
  for (auto& [member, waits] : arrivals.last) {
    if (waits.size() * 100 < arrivals.collectives * kLastInPercent) continue;
    std::nth_element(waits.begin(), waits.begin() + static_cast<ptrdiff_t>(waits.size() / 2),
                     waits.end());
    Lateness& lateness = incident->Set<Lateness>();
    lateness = {.last = waits.size(),
                .of = arrivals.collectives,
                .median_ns = waits[waits.size() / 2],
                .elapsed_ns = arrivals.elapsed_ns};
    for (const int64_t wait : waits) lateness.total_ns += wait;
    if (lateness.median_ns < kMinWaitNs ||
        lateness.total_ns * 100 < arrivals.elapsed_ns * kMinLossPercent) {
      return false;
    }
    incident->what = Incident::What::kLast;
    incident->communicator = histories.communicator;
    incident->sequence = arrivals.sequence;
    incident->deviating = {histories.members[member].process};
    for (const MemberHistory& other : histories.members) {
      if (other.process != histories.members[member].process)
        incident->agreeing.push_back(other.process);
    }
    incident->deviating_event = histories.members[member].At(arrivals.sequence);
    incident->agreeing_event = CallOrPlace(analysis, histories.communicator, arrivals.sequence,
                                           incident->agreeing.front());
    return true;
  }
  return false;
}

}  // namespace

void FindStragglers(const Analysis& analysis, std::vector<Incident>* incidents) {
  std::map<uint32_t, Incident> by_process;  // a slow rank is seen on all its communicators
  for (uint32_t c = 0; c < analysis.histories.size(); ++c) {
    const CommunicatorHistory& histories = analysis.histories[c];
    const bool inter = (analysis.trace.communicators[c].flags & ring::kIsInter) != 0;
    if (histories.members.size() < 2 || !histories.ordered || !histories.absent.empty() || inter)
      continue;
    Incident incident;
    if (!Judge(analysis, histories, &incident)) continue;
    const auto [entry, added] = by_process.try_emplace(incident.deviating.front(), incident);
    if (!added && incident.Of<Lateness>().total_ns > entry->second.Of<Lateness>().total_ns) {
      entry->second = std::move(incident);
    }
  }
  for (auto& [process, incident] : by_process) incidents->push_back(std::move(incident));
}

}  // namespace rollcall
