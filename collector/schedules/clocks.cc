// SPDX-License-Identifier: Apache-2.0
#include "collector/schedules/clocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "collector/diagnosis/graph/message_supply.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

// The words of all clocks together; beyond, no order is computed.
constexpr uint64_t kMaxWords = uint64_t{64} << 20;

// Receives of one pattern, or the sends that they match: communicator, sender, receiver, tag.
using Pattern = std::tuple<uint32_t, uint32_t, uint32_t, int32_t>;

class Sweep {
 public:
  Sweep(const AlignedTrace& aligned, const std::vector<std::vector<const Event*>>& timelines,
        std::vector<std::vector<Clock>>* clocks)
      : aligned_(aligned), timelines_(timelines), clocks_(*clocks), messages_(aligned.trace) {}

  void Run() {
    const size_t count = timelines_.size();
    ranks_.resize(count);
    clocks_.resize(count);
    for (uint32_t p = 0; p < count; ++p) {
      ranks_[p].clock.assign(count, 0);
      clocks_[p].resize(timelines_[p].size());
      CollectSends(p);
    }
    // A call whose predecessors are missing from the records would stop the sweep; then the
    // earliest call goes on without them.
    for (;;) {
      bool moved = false;
      for (uint32_t p = 0; p < count; ++p) {
        while (Step(p, /*force=*/false)) moved = true;
      }
      if (moved) continue;
      uint32_t earliest = kNoIndex;
      for (uint32_t p = 0; p < count; ++p) {
        if (AtEnd(p)) continue;
        if (earliest == kNoIndex || Current(p).start_ns < Current(earliest).start_ns) earliest = p;
      }
      if (earliest == kNoIndex) return;
      Step(earliest, /*force=*/true);
    }
  }

 private:
  struct Rank {
    Clock clock;
    size_t at = 0;
    bool entered = false;
    std::map<Pattern, uint32_t> receives;              // made so far
    std::map<uint64_t, std::vector<SendAt>> requests;  // pending receives and what they match
    std::vector<SendAt> awaited;                       // by the current call
  };

  bool AtEnd(uint32_t p) const { return ranks_[p].at == timelines_[p].size(); }
  const Event& Current(uint32_t p) const { return *timelines_[p][ranks_[p].at]; }

  uint32_t PeerOf(uint32_t p, const Event& event, int32_t peer) const {
    if (event.member == kNoIndex || peer < 0) return kNoIndex;
    const Process& process = aligned_.trace.processes[p];
    const std::vector<int32_t>& peers =
        messages_.Peers(aligned_.CommunicatorOf(event), process.rank);
    if (static_cast<size_t>(peer) >= peers.size()) return kNoIndex;
    return ProcessOf(aligned_.trace, process.world, peers[static_cast<size_t>(peer)]);
  }

  void CollectSends(uint32_t p) {
    for (size_t at = 0; at < timelines_[p].size(); ++at) {
      const Event& event = *timelines_[p][at];
      if (aligned_.KindOf(event) == Kind::kPersistentP2p) continue;
      for (const Message& message : MessagesOf(aligned_.Args(event))) {
        const uint32_t to = message.sends ? PeerOf(p, event, message.peer) : kNoIndex;
        if (to == kNoIndex) continue;
        const uint32_t comm = aligned_.CommunicatorOf(event);
        sends_[{comm, p, to, message.tag}].push_back({p, at});
        sends_[{comm, p, to, ring::kAnyTag}].push_back({p, at});
      }
    }
  }

  // The earliest send that the receive can match: the n-th receive of a pattern takes the n-th
  // message of the pattern, or a later one.
  void Match(uint32_t p, const Event& event, const Message& message, std::vector<SendAt>* to) {
    const uint32_t from = PeerOf(p, event, message.peer);
    if (message.sends || message.probes || message.matched || from == kNoIndex) return;
    const Pattern pattern(aligned_.CommunicatorOf(event), from, p, message.tag);
    const uint32_t number = ranks_[p].receives[pattern]++;
    const auto found = sends_.find(pattern);
    if (found != sends_.end() && number < found->second.size()) {
      to->push_back(found->second[number]);
    }
  }

  void Enter(uint32_t p) {
    Rank& rank = ranks_[p];
    const Event& event = Current(p);
    const Kind kind = aligned_.KindOf(event);
    rank.entered = true;
    rank.awaited.clear();
    rank.clock[p] = static_cast<uint32_t>(rank.at + 1);
    std::vector<SendAt> matched;
    if (kind != Kind::kPersistentP2p) {
      for (const Message& message : MessagesOf(aligned_.Args(event))) {
        Match(p, event, message, &matched);
        if (message.sends) clocks_[p][rank.at] = rank.clock;
      }
    }
    if (kind == Kind::kRecv || kind == Kind::kSendrecv) {
      rank.awaited = std::move(matched);
    } else if (event.request != 0 && !matched.empty()) {
      rank.requests[event.request] = std::move(matched);
    } else if (kind == Kind::kWait) {
      Await(&rank, event.request);
    } else if (kind == Kind::kWaitall && event.detail == rank.requests.size()) {
      while (!rank.requests.empty()) Await(&rank, rank.requests.begin()->first);
    }
    if (IsOrdering(event)) {
      entries_[{aligned_.CommunicatorOf(event), event.sequence}][p] = rank.clock;
    }
  }

  static void Await(Rank* rank, uint64_t request) {
    const auto found = rank->requests.find(request);
    if (found == rank->requests.end()) return;
    rank->awaited.insert(rank->awaited.end(), found->second.begin(), found->second.end());
    rank->requests.erase(found);
  }

  // A blocking collective that waits for certain members.
  bool IsOrdering(const Event& event) const {
    if (event.sequence == 0 || event.member == kNoIndex ||
        aligned_.KindOf(event) != Kind::kCollective) {
      return false;
    }
    const Needs needs = NeedsOf(FindOperation(static_cast<uint16_t>(aligned_.Op(event))).rule);
    return needs == Needs::kAll || needs == Needs::kRoot || needs == Needs::kMembers;
  }

  // The members for which a member waits in the collective.
  std::vector<uint32_t> Awaited(uint32_t p, const Event& event) const {
    std::vector<uint32_t> awaited;
    const Needs needs = NeedsOf(FindOperation(static_cast<uint16_t>(aligned_.Op(event))).rule);
    const Member& own = aligned_.trace.members[event.member];
    const int32_t root = aligned_.Args(event).root_or_peer;
    if (needs == Needs::kMembers && own.rank != root) return awaited;
    for (const uint32_t m : aligned_.trace.communicators[own.communicator].members) {
      const Member& member = aligned_.trace.members[m];
      if (member.process == p || (needs == Needs::kRoot && member.rank != root)) continue;
      awaited.push_back(member.process);
    }
    if (needs == Needs::kRoot && own.rank == root) awaited.clear();
    return awaited;
  }

  static void Join(const Clock& other, Clock* clock) {
    for (size_t i = 0; i < other.size(); ++i) (*clock)[i] = std::max((*clock)[i], other[i]);
  }

  // True if the process has made its next call. `force`: even if what the call waits for is
  // missing.
  bool Step(uint32_t p, bool force) {
    if (AtEnd(p)) return false;
    Rank& rank = ranks_[p];
    if (!rank.entered) Enter(p);
    for (const SendAt& send : rank.awaited) {
      if (clocks_[send.process][send.at].empty() && !force) return false;
    }
    const Event& event = Current(p);
    const bool orders = IsOrdering(event);
    const std::map<uint32_t, Clock> none;
    const std::map<uint32_t, Clock>& entered =
        orders ? entries_[{aligned_.CommunicatorOf(event), event.sequence}] : none;
    const std::vector<uint32_t> members = orders ? Awaited(p, event) : std::vector<uint32_t>();
    for (const uint32_t member : members) {
      if (!entered.contains(member) && !force) return false;
    }
    for (const SendAt& send : rank.awaited) Join(clocks_[send.process][send.at], &rank.clock);
    for (const uint32_t member : members) {
      const auto found = entered.find(member);
      if (found != entered.end()) Join(found->second, &rank.clock);
    }
    ++rank.at;
    rank.entered = false;
    return true;
  }

  const AlignedTrace& aligned_;
  const std::vector<std::vector<const Event*>>& timelines_;
  std::vector<std::vector<Clock>>& clocks_;
  MessageSupply messages_;
  std::vector<Rank> ranks_;
  std::map<Pattern, std::vector<SendAt>> sends_;
  // Clocks at the entry, by collective and process.
  std::map<std::pair<uint32_t, uint64_t>, std::map<uint32_t, Clock>> entries_;
};

}  // namespace

Clocks::Clocks(const AlignedTrace& aligned,
               const std::vector<std::vector<const Event*>>& timelines) {
  uint64_t calls = 0;
  for (const std::vector<const Event*>& timeline : timelines) calls += timeline.size();
  if (calls * timelines.size() > kMaxWords) return;
  Sweep(aligned, timelines, &clocks_).Run();
}

const Clock* Clocks::At(const SendAt& send) const {
  if (clocks_.empty()) return nullptr;
  const Clock& clock = clocks_[send.process][send.at];
  return clock.empty() ? nullptr : &clock;
}

}  // namespace rollcall
