#include "collector/matching/lanes.h"

#include <algorithm>
#include <unordered_set>

namespace rollcall {

const Event* Lane::At(uint64_t sequence) const {
  if (sequence < first || sequence > last) return nullptr;
  const std::vector<Event>& events = membership->events;
  if (gap_free) return &events[sequence - first];
  const auto found =
      std::lower_bound(events.begin(), events.end(), sequence,
                       [](const Event& event, uint64_t wanted) { return event.sequence < wanted; });
  return found != events.end() && found->sequence == sequence ? &*found : nullptr;
}

Lanes MakeLanes(const Trace& trace, uint32_t communicator) {
  const Communicator& comm = trace.communicators[communicator];
  Lanes result;
  result.communicator = communicator;
  result.ordered = (comm.flags & (ring::kSawConcurrency | ring::kWeakIdentity)) == 0;
  std::unordered_set<int32_t> present;
  for (const uint32_t index : comm.memberships) {
    const Membership& membership = trace.memberships[index];
    if (membership.process == kNoIndex) continue;
    Lane lane;
    lane.process = membership.process;
    lane.membership_index = index;
    lane.membership = &membership;
    lane.entered = membership.entered;
    if (membership.events.empty()) {
      lane.first = membership.entered + 1;
    } else {
      lane.first = membership.events.front().sequence;
      lane.last = membership.events.back().sequence;
      lane.entered = std::max(lane.entered, lane.last);
      lane.gap_free = lane.last - lane.first + 1 == membership.events.size();
    }
    result.highest = std::max(result.highest, lane.entered);
    present.insert(trace.processes[membership.process].rank);
    result.lanes.push_back(lane);
  }
  for (const auto* group : {&comm.members, &comm.remote_members}) {
    for (const int32_t rank : *group) {
      if (rank >= 0 && !present.contains(rank)) result.absent.push_back(rank);
    }
  }
  std::sort(result.absent.begin(), result.absent.end());
  result.absent.erase(std::unique(result.absent.begin(), result.absent.end()), result.absent.end());
  return result;
}

void VisitDifferences(
    const Trace& trace, const Lanes& lanes,
    const std::function<void(uint64_t sequence, const std::vector<uint32_t>&)>& visit) {
  if (lanes.lanes.size() < 2) return;
  uint64_t lowest = lanes.highest + 1;
  uint64_t highest = 0;
  for (const Lane& lane : lanes.lanes) {
    if (lane.last == 0) continue;
    lowest = std::min(lowest, lane.first);
    highest = std::max(highest, lane.last);
  }
  if (lowest > highest) return;
  // A damaged file may claim any number: what is held is bounded by what was recorded.
  uint64_t records = 0;
  for (const Lane& lane : lanes.lanes) records += lane.membership->events.size();
  const uint64_t span = highest - lowest + 1;
  if (span > 64 * records + 4096) return;

  // Boyer and Moore's vote finds the most frequent arguments of each number in one pass per member,
  // so that no rank serves as the measure of the others.
  struct Vote {
    uint32_t arguments = kNoIndex;
    uint32_t count = 0;
  };
  std::vector<Vote> votes(span);
  for (const Lane& lane : lanes.lanes) {
    for (const Event& event : lane.membership->events) {
      Vote& vote = votes[event.sequence - lowest];
      if (vote.count == 0) vote.arguments = event.arguments;
      if (vote.arguments == event.arguments) {
        ++vote.count;
      } else {
        --vote.count;
      }
    }
  }
  std::vector<bool> differs(span);
  for (const Lane& lane : lanes.lanes) {
    for (const Event& event : lane.membership->events) {
      if (votes[event.sequence - lowest].arguments != event.arguments) {
        differs[event.sequence - lowest] = true;
      }
    }
  }
  std::vector<bool> seen(trace.arguments.size());
  std::vector<uint32_t> parties;
  for (uint64_t sequence = lowest; sequence <= highest; ++sequence) {
    const uint32_t arguments = votes[sequence - lowest].arguments;
    if (arguments == kNoIndex) continue;
    if (!differs[sequence - lowest] && seen[arguments]) continue;
    parties.clear();
    for (uint32_t i = 0; i < lanes.lanes.size(); ++i) {
      if (lanes.lanes[i].At(sequence) != nullptr) parties.push_back(i);
    }
    // Equal arguments need one look only when every member took part in it.
    if (!differs[sequence - lowest] && parties.size() == lanes.lanes.size()) seen[arguments] = true;
    visit(sequence, parties);
  }
}

uint64_t SiteKey(const Trace& trace, const CallSites& sites, const Event& event) {
  const uint64_t operation = static_cast<uint64_t>(trace.arguments[event.arguments].operation);
  return operation << 32 | sites.Id(event.call_path);
}

}  // namespace rollcall
