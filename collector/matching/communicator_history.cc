// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/communicator_history.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collector/model/rank_set.h"

namespace rollcall {

const Event* MemberHistory::At(uint64_t sequence) const {
  if (sequence < first || sequence > last) return nullptr;
  const std::vector<Event>& events = member->events;
  if (gap_free) return &events[sequence - first];
  const auto found = std::ranges::lower_bound(events, sequence, {}, &Event::sequence);
  return found != events.end() && found->sequence == sequence ? &*found : nullptr;
}

uint64_t FrontOf(const CommunicatorHistory& histories) {
  uint64_t least = histories.highest;
  for (const MemberHistory& history : histories.members) least = std::min(least, history.entered);
  return std::min(least + 1, histories.highest);
}

std::optional<Checkpoint> LastCheckpoint(const Member& member) {
  if (member.checkpoints.empty() || member.checkpoints.back().sequence != member.entered) {
    return std::nullopt;
  }
  return member.checkpoints.back();
}

namespace {

// Finds each member's twin.
void FindTwins(CommunicatorHistory* histories) {
  if (histories->members.size() == 1) {
    histories->members[0].twin = 0;
    return;
  }
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;
  std::map<Key, std::vector<uint32_t>> alike;
  for (uint32_t i = 0; i < histories->members.size(); ++i) {
    histories->members[i].twin = i;
    const std::optional<Checkpoint> last = LastCheckpoint(*histories->members[i].member);
    // Without call paths, the hash does not identify call sites.
    if (!histories->ordered || !last || last->path_hash == 0) continue;
    alike[Key(last->sequence, last->semantic_hash, last->path_hash)].push_back(i);
  }
  for (const auto& [key, members] : alike) {
    const uint32_t deepest = *std::ranges::min_element(members, [&](uint32_t a, uint32_t b) {
      return histories->members[a].first < histories->members[b].first;
    });
    for (const uint32_t i : members) {
      histories->members[i].twin = deepest;
      if (i != deepest) histories->members[deepest].stands_for.push_back(i);
    }
    std::ranges::sort(histories->members[deepest].stands_for, [&](uint32_t a, uint32_t b) {
      return histories->members[a].first < histories->members[b].first;
    });
  }
}

}  // namespace

CommunicatorHistory BuildHistory(const Trace& trace, uint32_t communicator) {
  const Communicator& comm = trace.communicators[communicator];
  CommunicatorHistory result;
  result.communicator = communicator;
  result.ordered = (comm.flags & (ring::kSawConcurrency | ring::kWeakIdentity)) == 0;
  std::vector<int32_t> present;
  present.reserve(comm.members.size());
  result.members.reserve(comm.members.size());
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
    present.push_back(trace.processes[member.process].rank);
    result.members.push_back(history);
  }
  FindTwins(&result);
  // The members are sorted by rank.
  if (!std::ranges::is_sorted(present)) std::ranges::sort(present);
  for (const auto* group : {&comm.ranks, &comm.remote_ranks}) {
    for (const int32_t rank : *group) {
      if (rank >= 0 && !std::ranges::binary_search(present, rank)) {
        result.absent.push_back(rank);
      }
    }
  }
  Normalize(&result.absent);
  return result;
}

std::span<const uint32_t> CommunicatorHistory::WithoutRecord(uint32_t member,
                                                             uint64_t sequence) const {
  const std::vector<uint32_t>& others = members[member].stands_for;
  const auto first = std::partition_point(others.begin(), others.end(), [&](uint32_t other) {
    return members[other].first <= sequence;
  });
  return {first, others.end()};
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
  // A damaged file may contain any number, so memory is bounded by the number of records.
  uint64_t records = 0;
  for (const MemberHistory& history : histories.members) records += history.member->events.size();
  const uint64_t span = highest - lowest + 1;
  if (span > 64 * records + 4096) return;

  // Boyer and Moore's majority vote finds the arguments of the majority for each number in one pass
  // per member. So no single rank is the reference for the others.
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
  // In a large communicator, most members may have records of their newest calls only.
  std::vector<uint32_t> by_first;
  for (uint32_t i = 0; i < histories.members.size(); ++i) {
    if (histories.members[i].last != 0) by_first.push_back(i);
  }
  std::ranges::stable_sort(by_first, [&](uint32_t a, uint32_t b) {
    return histories.members[a].first < histories.members[b].first;
  });
  size_t begun = 0;
  // For each Arguments: the number of members with records when it was examined.
  std::vector<size_t> seen(trace.arguments.size());
  std::vector<uint32_t> calls;
  for (uint64_t sequence = lowest; sequence <= highest; ++sequence) {
    while (begun < by_first.size() && histories.members[by_first[begun]].first <= sequence) ++begun;
    const uint32_t arguments = votes[sequence - lowest].arguments;
    if (arguments == kNoIndex) continue;
    if (!differs[sequence - lowest] && seen[arguments] == begun) continue;
    calls.clear();
    for (size_t i = 0; i < begun; ++i) {
      if (histories.members[by_first[i]].At(sequence) != nullptr) calls.push_back(by_first[i]);
    }
    std::ranges::sort(calls);
    // Equal arguments are not examined again if every member with records has made this call.
    if (!differs[sequence - lowest] && calls.size() == begun) seen[arguments] = begun;
    visit(sequence, calls);
  }
}

uint64_t SiteKey(const Trace& trace, const CallSites& sites, const Event& event) {
  const uint64_t operation = static_cast<uint64_t>(trace.arguments[event.arguments].operation);
  return operation << 32 | sites.Id(event.call_path);
}

}  // namespace rollcall
