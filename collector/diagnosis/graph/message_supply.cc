// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/message_supply.h"

#include <algorithm>
#include <utility>

#include "collector/model/message_counts.h"

namespace rollcall {
namespace {

uint64_t InboundKey(uint32_t communicator, uint32_t process) {
  return uint64_t{communicator} << 32 | process;
}

// Whether every MPI_Pready was counted. No thread may be about to call MPI_Pready while another
// thread is inside a call.
bool MarksAreCertain(const Process& process) {
  return process.thread_level >= 0 && process.thread_level <= 2 && process.table_overflows == 0 &&
         process.records_unreadable == 0 && !process.channels_lost;
}

}  // namespace

const std::vector<int32_t>& MessageSupply::Peers(uint32_t communicator, int32_t rank) const {
  return PeerRanks(trace_.communicators[communicator], rank);
}

// The rank by which `by` addresses `process` on the communicator; empty if `process` is not a peer.
std::optional<int32_t> MessageSupply::RankSeenBy(uint32_t by, uint32_t communicator,
                                                 uint32_t process) const {
  const std::vector<int32_t>& peers = Peers(communicator, trace_.processes[by].rank);
  const auto it = std::ranges::find(peers, trace_.processes[process].rank);
  if (it == peers.end()) return std::nullopt;
  return static_cast<int32_t>(it - peers.begin());
}

// Calls `visit(message, event, cancelled)` for every receive of the process on the communicator
// that is not known to be complete. A receive with a pending MPI_Cancel may or may not take a
// message.
template <typename Visit>
void MessageSupply::VisitOpenReceives(uint32_t p, uint32_t communicator, const Visit& visit) const {
  const auto look = [&](const Event& event, bool cancelled) {
    if (event.member == kNoIndex || trace_.members[event.member].communicator != communicator) {
      return;
    }
    for (const Message& message : MessagesOf(trace_.arguments[event.arguments])) {
      if (!message.sends && !message.probes) visit(message, event, cancelled);
    }
  };
  for (const OpenCall& call : trace_.processes[p].open_calls) look(call.event, false);
  for (const OpenRequest& request : trace_.processes[p].open_requests) {
    if (request.state == ring::RequestState::kActive) look(request.event, request.cancelled);
  }
}

template <typename Visit>
void MessageSupply::VisitChannels(uint32_t p, uint32_t communicator, const Visit& visit) const {
  for (const Channel& channel : trace_.processes[p].channels) {
    if (channel.member == kNoIndex) continue;
    if (trace_.members[channel.member].communicator != communicator) continue;
    visit(channel);
  }
}

// Whether the messages of the pattern are counted in channels of their own. If not, some messages
// may be counted in other channels, or not at all.
bool MessageSupply::IsCountedApart(uint32_t p, uint32_t communicator,
                                   const Pattern& pattern) const {
  bool apart = !trace_.processes[p].channels_lost;
  if (apart || pattern.tag == ring::kAnyTag) return apart;
  // From the first message of a channel on, all of its messages are counted there.
  VisitChannels(p, communicator, [&](const Channel& channel) {
    apart |= Pattern{channel.peer, channel.tag} == pattern;
  });
  return apart;
}

// Whether the sends of all processes that could send the message of a receive are counted.
bool MessageSupply::AreSendsCounted(uint32_t receiver, uint32_t communicator,
                                    const Message& message) const {
  if (!channels_lost_) return true;
  const Process& process = trace_.processes[receiver];
  const std::vector<int32_t>& peers = Peers(communicator, process.rank);
  if (message.peer < 0 || static_cast<size_t>(message.peer) >= peers.size()) return false;
  const uint32_t sender =
      ProcessOf(trace_, process.world, peers[static_cast<size_t>(message.peer)]);
  if (sender == kNoIndex) return false;
  const std::optional<int32_t> me = RankSeenBy(sender, communicator, receiver);
  return me && IsCountedApart(sender, communicator, {*me, message.tag});
}

// Calls `visit(request)` for every partitioned request of the process that matches, started or not.
template <typename Visit>
void MessageSupply::VisitPartitioned(uint32_t p, uint32_t communicator, const Message& message,
                                     const Visit& visit) const {
  for (const OpenRequest& request : trace_.processes[p].open_requests) {
    const uint32_t member = request.event.member;
    if (member == kNoIndex) continue;
    if (trace_.members[member].communicator != communicator) continue;
    for (const Message& other : MessagesOf(trace_.arguments[request.event.arguments])) {
      if (other.partitioned && other.sends == message.sends && other.peer == message.peer &&
          other.tag == message.tag) {
        visit(request);
      }
    }
  }
}

Counted MessageSupply::OnItsWay(uint32_t receiver, uint32_t communicator, const Message& message,
                                const Event& event) {
  const Pattern wanted = PatternOf(message);
  const uint64_t sent = SentTo(receiver, communicator, wanted);
  // A receive without a status may have taken another message, if its pattern is wider.
  uint64_t taken = 0;
  VisitChannels(receiver, communicator, [&](const Channel& channel) {
    if (wanted.Covers({channel.peer, channel.tag})) taken += channel.received;
  });
  // Partitioned operations are matched by handle, not by the order of their starts: none takes the
  // message of another one.
  VisitOpenReceives(
      receiver, communicator, [&](const Message& open, const Event& other, bool cancelled) {
        if (cancelled) return;
        const Pattern pattern{open.peer, open.tag};
        // Requests that one call started have the same time.
        const bool before =
            pattern == wanted &&
            std::pair(other.start_ns, other.request) < std::pair(event.start_ns, event.request) &&
            !open.partitioned && !message.partitioned;
        if (open.matched ? wanted.Covers(pattern) : before) ++taken;
      });
  const bool whole = sent > taken ? IsCountedApart(receiver, communicator, wanted)
                                  : AreSendsCounted(receiver, communicator, message);
  if (!whole) return Counted::kUnknown;
  return sent > taken ? Counted::kYes : Counted::kNo;
}

int64_t MessageSupply::LeastLeft(uint32_t receiver, uint32_t communicator, const Message& message) {
  const Pattern wanted = PatternOf(message);
  auto left = static_cast<int64_t>(SentTo(receiver, communicator, wanted));
  VisitChannels(receiver, communicator, [&](const Channel& channel) {
    if (wanted.Overlaps({channel.peer, channel.tag}))
      left -= static_cast<int64_t>(channel.received);
  });
  return left;
}

uint64_t MessageSupply::SentTo(uint32_t receiver, uint32_t communicator, const Pattern& wanted) {
  CollectInbound();
  uint64_t sent = 0;
  if (const auto to = inbound_.find(InboundKey(communicator, receiver)); to != inbound_.end()) {
    for (const auto& [pattern, count] : to->second) {
      if (wanted.Covers(pattern)) sent += count;
    }
  }
  return sent;
}

// Collects once what was sent, by receiver. Examining every sender for every receive would be
// quadratic if all ranks are in receives.
void MessageSupply::CollectInbound() {
  if (inbound_known_) return;
  inbound_known_ = true;
  for (const Process& sender : trace_.processes) {
    channels_lost_ |= sender.channels_lost;
    for (const Channel& channel : sender.channels) {
      if (channel.member == kNoIndex || channel.sent == 0 || channel.peer < 0) continue;
      const Member& member = trace_.members[channel.member];
      const std::vector<int32_t>& peers = Peers(member.communicator, sender.rank);
      if (static_cast<size_t>(channel.peer) >= peers.size()) continue;
      const uint32_t to = ProcessOf(trace_, sender.world, peers[static_cast<size_t>(channel.peer)]);
      if (to == kNoIndex) continue;
      inbound_[InboundKey(member.communicator, to)].emplace_back(Pattern{member.rank, channel.tag},
                                                                 channel.sent);
    }
  }
}

Counted MessageSupply::BeingTaken(uint32_t sender, uint32_t communicator, uint32_t receiver,
                                  const Message& sent, const Event& event) const {
  const std::optional<int32_t> me = RankSeenBy(receiver, communicator, sender);
  if (!me) return Counted::kNo;
  const Pattern message{*me, sent.tag};
  // Partitioned sends are counted in their channel, and no other receive takes them.
  uint64_t takers = 0;
  if (!sent.partitioned) {
    VisitPartitioned(sender, communicator, sent,
                     [&](const OpenRequest& request) { takers += request.starts; });
  }
  VisitOpenReceives(receiver, communicator, [&](const Message& open, const Event&, bool) {
    if (open.partitioned != sent.partitioned) return;
    if (Pattern{open.peer, open.tag}.Covers(message)) ++takers;
  });
  bool further = !IsCountedApart(receiver, communicator, message);  // it may have been taken
  bool unseen = false;  // a receive that matches only such messages ended without a record
  VisitChannels(receiver, communicator, [&](const Channel& channel) {
    if (!Pattern{channel.peer, channel.tag}.Covers(message)) return;
    const bool merged = channel.tag == ring::kAnyTag && trace_.processes[receiver].channels_lost;
    if (!merged) takers += channel.received;
    further |= merged && channel.received != 0;
    const bool alone = channel.peer == message.peer && channel.tag == message.tag;
    unseen |= channel.receives_unseen && alone && !sent.partitioned;
    further |= channel.receives_unseen && !alone;
  });
  // The number of the message in its channel. If other messages are counted in the same channel,
  // this message may be the first of its kind.
  const bool numbered = IsCountedApart(sender, communicator, {sent.peer, sent.tag});
  const uint64_t number = std::max<uint64_t>(event.detail, 1);
  if (takers >= number && (numbered || event.detail != 0)) return Counted::kYes;
  // A receive whose request was freed takes its message (MPI 4.0, 3.7.3). A receive that failed or
  // was cancelled may take one. The number of these receives is not recorded.
  if (unseen) return Counted::kYes;
  return !further && takers < (numbered ? number : 1) ? Counted::kNo : Counted::kUnknown;
}

uint32_t MessageSupply::UnmarkedOf(uint32_t sender, const Event& event) const {
  const Process& process = trace_.processes[sender];
  if (!MarksAreCertain(process)) return 0;
  for (const OpenRequest& request : process.open_requests) {
    if (request.uid == event.request) return request.Unmarked();
  }
  return 0;
}

uint32_t MessageSupply::UnmarkedFor(uint32_t receiver, uint32_t sender, uint32_t communicator,
                                    const Message& message, uint64_t starts) const {
  const std::optional<int32_t> me = RankSeenBy(sender, communicator, receiver);
  if (!me || !MarksAreCertain(trace_.processes[sender])) return 0;
  Message sent = message;
  sent.sends = true;
  sent.peer = *me;
  const OpenRequest* send = OnlyPartitioned(sender, communicator, sent);
  const OpenRequest* receive = OnlyPartitioned(receiver, communicator, message);
  if (send == nullptr || receive == nullptr) return 0;
  if (send->state != ring::RequestState::kActive || send->starts != starts) return 0;
  // Starts of requests that were freed are counted in the channel as well.
  uint64_t started = 0;
  VisitChannels(sender, communicator, [&](const Channel& channel) {
    if (channel.peer == sent.peer && channel.tag == sent.tag) started += channel.sent;
  });
  return started == starts ? send->Unmarked() : 0;
}

// nullptr if there is none, or more than one.
const OpenRequest* MessageSupply::OnlyPartitioned(uint32_t p, uint32_t communicator,
                                                  const Message& message) const {
  const OpenRequest* only = nullptr;
  size_t requests = 0;
  VisitPartitioned(p, communicator, message, [&](const OpenRequest& request) {
    only = &request;
    ++requests;
  });
  return requests == 1 ? only : nullptr;
}

}  // namespace rollcall
