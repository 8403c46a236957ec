// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>
#include <vector>

#include "collector/import/ring_parts.h"
#include "collector/model/message_counts.h"

namespace rollcall {
namespace {

OpenRequest ReadRequest(const ring::OpenRequest& from, RingEvents* events) {
  OpenRequest request;
  request.uid = from.uid;
  request.state = static_cast<ring::RequestState>(from.state);
  request.starts = from.starts;
  if (static_cast<Operation>(from.record.operation) == Operation::kPsend_init) {
    request.partitions = static_cast<uint32_t>(from.record.detail2);
    request.marked = static_cast<uint32_t>(from.record.detail2 >> 32);
  }
  if (from.waiter != 0) request.waiter = events->FindThread(from.waiter - 1);
  request.cancelled = (from.record.flags & ring::kCancelled) != 0;
  RingRecord record;
  record.record = from.record;
  // The request has the arguments of the call that made it, without later flags.
  record.record.flags &= static_cast<uint16_t>(~ring::kCancelled);
  if (from.record.continuations != 0) record.record.flags |= ring::kCountsCut;
  request.event = events->MakeCall(record, ring::kCollectiveRing, 0).event;
  return request;
}

}  // namespace

void ReadOpenRequests(RingContext* context, const RingMembers& members, RingEvents* events) {
  std::vector<OpenRequest>& requests = context->process.open_requests;
  std::unordered_map<uint64_t, OpenRequest*> by_uid;
  requests.reserve(context->ring.open_requests.size());
  for (const ring::OpenRequest& from : context->ring.open_requests) {
    // A simulation finds the open operations on devices (device_work.h).
    if (members.IsGroupOnDevice(from.record.member)) continue;
    requests.push_back(ReadRequest(from, events));
    by_uid.emplace(from.uid, &requests.back());
  }
  if (by_uid.empty()) return;
  // The table has neither the thread that made the call nor the time when it returned; the ring's
  // record has both.
  std::unordered_map<uint64_t, bool> in_ring;
  const auto look = [&](const Event& event) {
    const auto it = event.request == 0 ? by_uid.end() : by_uid.find(event.request);
    if (it == by_uid.end()) return;
    Event& own = it->second->event;
    if (event.sequence != own.sequence || event.member != own.member ||
        context->OperationOf(event) != context->OperationOf(own)) {
      return;
    }
    // For a started request, the table has the time and place of the start. The ring's record
    // describes the initialization.
    const bool started = it->second->starts != 0;
    if (!started && event.start_ns != own.start_ns) return;
    if (!started) own = event;
    in_ring[event.request] = true;
  };
  for (const Member& member : members.all()) {
    for (const Event& event : member.events) look(event);
  }
  for (const RingCall& call : events->p2p()) look(call.event);
  for (const OpenRequest& request : requests) {
    const Event& event = request.event;
    if (event.sequence == 0 || event.member == kNoIndex || in_ring.contains(request.uid)) {
      continue;
    }
    if (IsCollective(FindOperation(static_cast<uint16_t>(context->OperationOf(event))).kind)) {
      context->trace.members[event.member].events.push_back(event);
    }
  }
}

void ReadChannels(RingContext* context, const RingMembers& members) {
  context->process.channels_lost = context->Lost(ring::SectionKind::kChannels) != 0;
  for (const ring::Channel& channel : context->ring.channels) {
    const uint32_t member = members.Find(channel.member);
    if (member == kNoIndex) continue;
    context->process.channels.push_back({member, channel.peer, channel.tag, channel.sent,
                                         channel.received,
                                         (channel.flags & ring::kReceivesUnseen) != 0});
  }
}

void ReadPeerCounts(RingContext* context, const RingMembers& members) {
  Process& process = context->process;
  if (!context->ring.counts_peers) {
    // Each message is in a channel, unless there was no room for some.
    process.peer_counts_lost = process.channels_lost;
    if (!process.channels_lost) process.peer_counts = SumByPeer(process.channels);
    return;
  }
  process.peer_counts_lost = context->Lost(ring::SectionKind::kPeerCounts) != 0;
  for (const ring::PeerCount& sum : context->ring.peer_counts) {
    const uint32_t member = members.Find(sum.member);
    if (member == kNoIndex) continue;
    process.peer_counts.push_back(
        {member, sum.peer, sum.sent, sum.received, (sum.flags & ring::kReceivesUnseen) != 0});
  }
}

}  // namespace rollcall
