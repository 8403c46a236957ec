// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/detectors/near_miss.h"

#include <algorithm>
#include <map>

#include "collector/diagnosis/graph/message_supply.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

// The messages of one direction between two processes on a communicator, by tag.
struct Edge {
  std::map<int32_t, uint64_t> sent;
  std::map<int32_t, uint64_t> taken;  // received, or taken by a posted receive
  uint64_t taken_by_any = 0;          // with any tag, or by receives from any source

  static uint64_t Count(const std::map<int32_t, uint64_t>& counts, int32_t tag) {
    const auto found = counts.find(tag);
    return found == counts.end() ? 0 : found->second;
  }
  // Whether a message with the tag is certainly left.
  bool IsLeft(int32_t tag) const { return Count(sent, tag) > Count(taken, tag) + taken_by_any; }
  void Take(int32_t peer, int32_t tag, uint64_t count) {
    (peer == ring::kAnySource || tag == ring::kAnyTag ? taken_by_any : taken[tag]) += count;
  }
};

Edge EdgeOf(const Analysis& analysis, uint32_t communicator, uint32_t from, uint32_t to) {
  Edge edge;
  const MemberHistory* sender = analysis.HistoryOf(communicator, from);
  const MemberHistory* receiver = analysis.HistoryOf(communicator, to);
  if (sender == nullptr || receiver == nullptr) return edge;
  // If channels are lost, the tags of received messages are not known, and no message is certainly
  // left.
  if (analysis.trace.processes[to].channels_lost) return edge;
  for (const Channel& channel : analysis.trace.processes[from].channels) {
    if (channel.member != sender->member_index || channel.sent == 0) continue;
    if (channel.tag == ring::kAnyTag) continue;  // a channel of several tags
    if (channel.peer != receiver->member->rank) continue;
    edge.sent[channel.tag] += channel.sent;
  }
  const int32_t me = sender->member->rank;
  for (const Channel& channel : analysis.trace.processes[to].channels) {
    if (channel.member != receiver->member_index) continue;
    if (channel.peer != me && channel.peer != ring::kAnySource) continue;
    edge.Take(channel.peer, channel.tag, channel.received);
  }
  for (const OpenRequest& request : analysis.trace.processes[to].open_requests) {
    if (request.state != ring::RequestState::kActive) continue;
    if (request.event.member != receiver->member_index) continue;
    for (const Message& message : MessagesOf(analysis.Args(request.event))) {
      const bool here = message.peer == me || message.peer == ring::kAnySource;
      if (!message.sends && here) edge.Take(message.peer, message.tag, 1);
    }
  }
  return edge;
}

// The message that a call receives or probes for.
std::optional<Message> ReceiveIn(const Analysis& analysis, const Event& call) {
  for (const Message& message : MessagesOf(analysis.Args(call))) {
    if (!message.sends && !message.matched) return message;
  }
  return std::nullopt;
}

// Whether a receive from the same peer with the same tag ended unseen.
bool MayHaveFreed(const Analysis& analysis, const Process& process, const Event& receive) {
  if (analysis.KindOf(receive) != Kind::kIrecv) return false;
  const Arguments& arguments = analysis.Args(receive);
  return std::ranges::any_of(process.channels, [&](const Channel& channel) {
    return channel.receives_unseen && channel.member == receive.member &&
           channel.peer == arguments.root_or_peer && channel.tag == arguments.tag;
  });
}

}  // namespace

std::optional<NearMiss> FindNearMiss(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const Trace& trace = analysis.trace;
  if (call.member == kNoIndex) return std::nullopt;
  const uint32_t wanted = trace.members[call.member].communicator;
  const Messages messages = MessagesOf(analysis.Args(call));
  const auto awaited =
      std::ranges::find_if(messages, [](const Message& message) { return !message.sends; });
  if (awaited == messages.end()) return std::nullopt;
  // A message of a rank to itself is taken only by receives from itself or from any source.
  const bool from_itself =
      awaited->peer == ring::kAnySource || awaited->peer == trace.members[call.member].rank;
  // One list for each difference. Each list explains more than the next one.
  std::vector<NearMiss> by_tag, by_communicator, by_sender;
  bool sent_before = false;  // the awaited rank has sent it a message
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (p == waiter && !from_itself) continue;
    const MemberHistory* own = analysis.HistoryOf(wanted, p);
    const bool sender =
        awaited->peer == ring::kAnySource || (own != nullptr && own->member->rank == awaited->peer);
    for (const Channel& channel : trace.processes[p].channels) {
      if (channel.member == kNoIndex || channel.sent == 0) continue;
      const uint32_t communicator = trace.members[channel.member].communicator;
      const MemberHistory* receiver = analysis.HistoryOf(communicator, waiter);
      if (receiver == nullptr || channel.peer != receiver->member->rank) continue;
      const bool here = communicator == wanted;
      const bool tag = awaited->tag == ring::kAnyTag || awaited->tag == channel.tag;
      sent_before |= sender && here;
      if (sender + here + tag != 2) continue;
      if (!EdgeOf(analysis, communicator, p, waiter).IsLeft(channel.tag)) continue;
      (!tag    ? by_tag
       : !here ? by_communicator
               : by_sender)
          .push_back({p, communicator, channel.tag});
    }
  }
  // If several messages differ in different ways, none is an explanation: they may be for later
  // receives.
  const auto only = [](const std::vector<NearMiss>& all, auto what) -> std::optional<NearMiss> {
    const bool one = !all.empty() && std::ranges::all_of(all, [&](const NearMiss& miss) {
      return miss.*what == all.front().*what;
    });
    return one ? std::optional(all.front()) : std::nullopt;
  };
  if (!by_tag.empty()) return only(by_tag, &NearMiss::tag);
  if (!by_communicator.empty()) return only(by_communicator, &NearMiss::communicator);
  // A message of another rank may be for the next call, if ranks are served in turn.
  return sent_before ? std::nullopt : only(by_sender, &NearMiss::other);
}

std::optional<NearMiss> FindNearReceive(const Analysis& analysis, uint32_t waiter,
                                        const Event& call) {
  const Trace& trace = analysis.trace;
  std::optional<NearMiss> elsewhere;
  const auto look = [&](uint32_t p, const Event& event) -> std::optional<NearMiss> {
    if (event.member == kNoIndex) return std::nullopt;
    const uint32_t communicator = trace.members[event.member].communicator;
    const MemberHistory* sender = analysis.HistoryOf(communicator, waiter);
    if (sender == nullptr) return std::nullopt;
    for (const Message& message : MessagesOf(analysis.Args(event))) {
      if (message.sends || message.probes || message.matched) continue;
      if (message.peer != sender->member->rank) continue;
      const NearMiss miss{p, communicator, message.tag};
      if (event.member != kNoIndex && call.member != kNoIndex &&
          communicator == trace.members[call.member].communicator) {
        return miss;
      }
      if (!elsewhere) elsewhere = miss;
    }
    return std::nullopt;
  };
  for (const WaitDependency& dependency : analysis.graph.processes[waiter].dependencies) {
    if (dependency.event != &call || !dependency.sends || dependency.process == kNoIndex) continue;
    const Process& receiver = trace.processes[dependency.process];
    for (const OpenCall& open : receiver.open_calls) {
      if (const auto miss = look(dependency.process, open.event)) return miss;
    }
    for (const OpenRequest& request : receiver.open_requests) {
      if (request.state != ring::RequestState::kActive) continue;
      if (const auto miss = look(dependency.process, request.event)) return miss;
    }
    for (const Event& event : receiver.p2p) {
      if (!MayHaveFreed(analysis, receiver, event)) continue;
      std::optional<NearMiss> miss = look(dependency.process, event);
      if (!miss) continue;
      miss->freed = true;
      const Edge edge = EdgeOf(analysis, miss->communicator, waiter, dependency.process);
      if (Edge::Count(edge.sent, miss->tag) == 0) return miss;
    }
  }
  return elsewhere;
}

std::optional<StolenMessage> FindStolenMessage(const Analysis& analysis, uint32_t waiter,
                                               const Event& call) {
  const std::optional<Message> awaited = ReceiveIn(analysis, call);
  if (!awaited) return std::nullopt;
  StolenMessage stolen;
  const std::vector<Event>& events = analysis.trace.processes[waiter].p2p;
  for (const Event& event : events) {
    if (event.thread == call.thread && event.start_ns < call.start_ns) {
      const std::optional<Message> found = ReceiveIn(analysis, event);
      const bool probes = found && found->probes && event.member == call.member &&
                          analysis.Args(event).operation != Operation::kMprobe;
      stolen.probe = probes && Covers(*found, *awaited) ? &event : nullptr;
    }
  }
  if (stolen.probe == nullptr) return std::nullopt;
  for (const Event& event : events) {
    if (event.thread == call.thread || event.member != call.member) continue;
    if (event.end_ns == kNoTime || event.end_ns < stolen.probe->start_ns) continue;
    const std::optional<Message> taken = ReceiveIn(analysis, event);
    if (taken && !taken->probes && Covers(*taken, *awaited)) stolen.receive = &event;
  }
  return stolen.receive == nullptr ? std::nullopt : std::optional(stolen);
}

const Event* FindGreedyReceive(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const std::optional<Message> awaited = ReceiveIn(analysis, call);
  const Process& process = analysis.trace.processes[waiter];
  const bool lost = std::ranges::any_of(process.threads,
                                        [](const Thread& thread) { return thread.lost_p2p != 0; });
  if (!awaited || awaited->peer < 0 || awaited->tag == ring::kAnyTag || lost) return nullptr;
  const Event* greedy = nullptr;
  uint64_t named = 0;
  for (const Event& event : process.p2p) {
    const Kind kind = analysis.KindOf(event);
    // These calls receive messages without an event that names the source.
    if (kind == Kind::kPersistentP2p || kind == Kind::kMrecv || kind == Kind::kImrecv) {
      return nullptr;
    }
    const std::optional<Message> taken = ReceiveIn(analysis, event);
    if (!taken || taken->probes || event.member != call.member || event.end_ns == kNoTime) continue;
    if (taken->peer == awaited->peer && taken->tag == awaited->tag) {
      ++named;
    } else if (taken->peer == ring::kAnySource && Covers(*taken, *awaited)) {
      greedy = &event;
    }
  }
  uint64_t received = 0;
  for (const Channel& channel : process.channels) {
    if (channel.member != call.member || channel.tag != awaited->tag) continue;
    if (channel.peer == awaited->peer) received += channel.received;
  }
  return received > named ? greedy : nullptr;
}

bool IsLeftOver(const Analysis& analysis, uint32_t communicator, uint32_t from, uint32_t to,
                int32_t tag) {
  return EdgeOf(analysis, communicator, from, to).IsLeft(tag);
}

}  // namespace rollcall
