#include "collector/matching/communicator_history.h"

#include <algorithm>
#include <unordered_set>

namespace rollcall {

const Event* MemberHistory::At(uint64_t sequence) const {
  if (sequence < first || sequence > last) return nullptr;
  const std::vector<Event>& events = member->events;
  if (gap_free) return &events[sequence - first];
  const auto found =
      std::lower_bound(events.begin(), events.end(), sequence,
                       [](const Event& event, uint64_t wanted) { return event.sequence < wanted; });
  return found != events.end() && found->sequence == sequence ? &*found : nullptr;
}

CommunicatorHistory BuildHistory(const Trace& trace, uint32_t communicator) {
  const Communicator& comm = trace.communicators[communicator];
  CommunicatorHistory result;
  result.communicator = communicator;
  result.ordered = (comm.flags & (ring::kSawConcurrency | ring::kWeakIdentity)) == 0;
  std::unordered_set<int32_t> present;
  for (const uint32_t index : comm.members) {
    const Member& member = trace.members[index];
    if (member.process == kNoIndex) continue;
    MemberHistory history;
    history.process = member.process;
    history.member_index = index;
    history.member = &member;
    history.entered = member.entered;
    if (member.events.empty()) {
      history.first = member.entered + 1;
    } else {
      history.first = member.events.front().sequence;
      history.last = member.events.back().sequence;
      history.entered = std::max(history.entered, history.last);
      history.gap_free = history.last - history.first + 1 == member.events.size();
    }
    result.highest = std::max(result.highest, history.entered);
    present.insert(trace.processes[member.process].rank);
    result.members.push_back(history);
  }
  for (const auto* group : {&comm.ranks, &comm.remote_ranks}) {
    for (const int32_t rank : *group) {
      if (rank >= 0 && !present.contains(rank)) result.absent.push_back(rank);
    }
  }
  std::sort(result.absent.begin(), result.absent.end());
  result.absent.erase(std::unique(result.absent.begin(), result.absent.end()), result.absent.end());
  return result;
}

void VisitDifferences(
    const Trace& trace, const CommunicatorHistory& histories,
    const std::function<void(uint64_t sequence, const std::vector<uint32_t>&)>& visit) {
  if (histories.members.size() < 2) return;
  uint64_t lowest = histories.highest + 1;
  uint64_t highest = 0;
  for (const MemberHistory& history : histories.members) {
    if (history.last == 0) continue;
    lowest = std::min(lowest, history.first);
    highest = std::max(highest, history.last);
  }
  if (lowest > highest) return;
  // A damaged file may claim any number: what is held is bounded by what was recorded.
  uint64_t records = 0;
  for (const MemberHistory& history : histories.members) records += history.member->events.size();
  const uint64_t span = highest - lowest + 1;
  if (span > 64 * records + 4096) return;

  // Boyer and Moore's vote finds the most frequent arguments of each number in one pass per member,
  // so that no rank serves as the measure of the others.
  struct Vote {
    uint32_t arguments = kNoIndex;
    uint32_t count = 0;
  };
  std::vector<Vote> votes(span);
  for (const MemberHistory& history : histories.members) {
    for (const Event& event : history.member->events) {
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
  for (const MemberHistory& history : histories.members) {
    for (const Event& event : history.member->events) {
      if (votes[event.sequence - lowest].arguments != event.arguments) {
        differs[event.sequence - lowest] = true;
      }
    }
  }
  std::vector<bool> seen(trace.arguments.size());
  std::vector<uint32_t> calls;
  for (uint64_t sequence = lowest; sequence <= highest; ++sequence) {
    const uint32_t arguments = votes[sequence - lowest].arguments;
    if (arguments == kNoIndex) continue;
    if (!differs[sequence - lowest] && seen[arguments]) continue;
    calls.clear();
    for (uint32_t i = 0; i < histories.members.size(); ++i) {
      if (histories.members[i].At(sequence) != nullptr) calls.push_back(i);
    }
    // Equal arguments need one look only when every member took part in it.
    if (!differs[sequence - lowest] && calls.size() == histories.members.size())
      seen[arguments] = true;
    visit(sequence, calls);
  }
}

uint64_t SiteKey(const Trace& trace, const CallSites& sites, const Event& event) {
  const uint64_t operation = static_cast<uint64_t>(trace.arguments[event.arguments].operation);
  return operation << 32 | sites.Id(event.call_path);
}

}  // namespace rollcall
