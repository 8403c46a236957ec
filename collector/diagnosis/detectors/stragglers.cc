// Who is always the last to arrive, in a job that moves.
//
// No clock of one host is compared with another's. In a collective in which everybody waits for
// everybody (MPI 4.0, 6.1: an allreduce cannot return before all have called it) all members leave
// together, give or take its own cost: so the last to arrive is the one that stays for the shortest
// time, and the others waited for it by as much as they stayed longer.
#include <algorithm>
#include <map>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"

namespace rollcall {
namespace {

// What one rank must be beyond to be no accident: last so often, of so many, and others lose so
// much by it, each time and of all the time that passed.
constexpr uint64_t kFewestCollectives = 20;
constexpr uint64_t kLastInPercent = 90;
constexpr int64_t kLeastWaitNs = 100'000;
constexpr int64_t kLeastLossPercent = 10;

bool AllWaitForAll(Operation operation) {
  const OperationInfo& info = FindOperation(static_cast<uint16_t>(operation));
  const Needs needs = NeedsOf(info.rule);
  return info.kind == Kind::kCollective &&
         (needs == Needs::kAll || needs == Needs::kAllIfCounted || info.rule == Rule::kAllgatherv);
}

struct Arrivals {
  std::map<uint32_t, std::vector<int64_t>> last;  // by lane: how long the others waited for it
  uint64_t collectives = 0;
  uint64_t sequence = 0;  // the newest
  int64_t elapsed_ns = 0;
};

Arrivals Collect(const Analysis& analysis, const Lanes& lanes) {
  Arrivals arrivals;
  uint64_t first = 1;
  uint64_t last = ~uint64_t{0};
  for (const Lane& lane : lanes.lanes) {
    first = std::max(first, lane.first);
    last = std::min(last, lane.last);
  }
  int64_t began_ns = kNoTime;
  for (uint64_t n = first; n <= last; ++n) {
    std::vector<int64_t> stays;
    const Event* reference = nullptr;
    for (const Lane& lane : lanes.lanes) {
      const Event* event = lane.At(n);
      if (event == nullptr || event->start_ns == kNoTime || event->end_ns == kNoTime ||
          event->end_ns < event->start_ns || !AllWaitForAll(analysis.Op(*event))) {
        break;
      }
      if (reference == nullptr) reference = event;
      if (analysis.Op(*event) != analysis.Op(*reference)) break;
      stays.push_back(event->end_ns - event->start_ns);
    }
    if (stays.size() != lanes.lanes.size()) continue;
    ++arrivals.collectives;
    arrivals.sequence = n;
    if (began_ns == kNoTime) began_ns = reference->start_ns;
    arrivals.elapsed_ns = reference->end_ns - began_ns;
    const auto shortest = std::min_element(stays.begin(), stays.end());
    const auto lane = static_cast<uint32_t>(shortest - stays.begin());
    const int64_t stay = *shortest;
    *shortest = INT64_MAX;
    arrivals.last[lane].push_back(*std::min_element(stays.begin(), stays.end()) - stay);
  }
  return arrivals;
}

bool Judge(const Analysis& analysis, const Lanes& lanes, Incident* incident) {
  Arrivals arrivals = Collect(analysis, lanes);
  if (arrivals.collectives < kFewestCollectives) return false;
  for (auto& [lane, waits] : arrivals.last) {
    if (waits.size() * 100 < arrivals.collectives * kLastInPercent) continue;
    std::nth_element(waits.begin(), waits.begin() + static_cast<ptrdiff_t>(waits.size() / 2),
                     waits.end());
    Lateness& lateness = incident->lateness;
    lateness = {.last = waits.size(),
                .of = arrivals.collectives,
                .median_ns = waits[waits.size() / 2],
                .elapsed_ns = arrivals.elapsed_ns};
    for (const int64_t wait : waits) lateness.total_ns += wait;
    if (lateness.median_ns < kLeastWaitNs ||
        lateness.total_ns * 100 < arrivals.elapsed_ns * kLeastLossPercent) {
      return false;
    }
    incident->what = Incident::What::kLast;
    incident->communicator = lanes.communicator;
    incident->sequence = arrivals.sequence;
    incident->deviating = {lanes.lanes[lane].process};
    for (const Lane& other : lanes.lanes) {
      if (other.process != lanes.lanes[lane].process) incident->agreeing.push_back(other.process);
    }
    incident->deviating_event = lanes.lanes[lane].At(arrivals.sequence);
    incident->agreeing_event =
        CallOrPlace(analysis, lanes.communicator, arrivals.sequence, incident->agreeing.front());
    return true;
  }
  return false;
}

}  // namespace

void FindStragglers(const Analysis& analysis, std::vector<Incident>* incidents) {
  std::map<uint32_t, Incident> by_process;  // a slow rank shows on all its communicators
  for (uint32_t c = 0; c < analysis.lanes.size(); ++c) {
    const Lanes& lanes = analysis.lanes[c];
    const bool inter = (analysis.trace.communicators[c].flags & ring::kIsInter) != 0;
    if (lanes.lanes.size() < 2 || !lanes.ordered || !lanes.absent.empty() || inter) continue;
    Incident incident;
    if (!Judge(analysis, lanes, &incident)) continue;
    const auto [entry, added] = by_process.try_emplace(incident.deviating.front(), incident);
    if (!added && incident.lateness.total_ns > entry->second.lateness.total_ns) {
      entry->second = std::move(incident);
    }
  }
  for (auto& [process, incident] : by_process) incidents->push_back(std::move(incident));
}

}  // namespace rollcall
