#include "collector/diagnosis/detectors/near_miss.h"

#include <algorithm>
#include <map>

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

// A receive from a specified rank that a rank of a ring waits in.
struct Receive {
  uint32_t waiter = kNoIndex;
  int32_t tag = 0;
  Edge edge;
};

Edge EdgeOf(const Analysis& analysis, uint32_t communicator, uint32_t from, uint32_t to) {
  Edge edge;
  const MemberHistory* sender = analysis.HistoryOf(communicator, from);
  const MemberHistory* receiver = analysis.HistoryOf(communicator, to);
  if (sender == nullptr || receiver == nullptr) return edge;
  // Then it is not known what was received with a tag, and no message is certainly left.
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

// The only receive that `process` waits in; empty if it waits for anything else as well.
std::optional<Receive> ReceiveOf(const Analysis& analysis, uint32_t process) {
  const std::vector<WaitDependency>& dependencies = analysis.graph.processes[process].dependencies;
  std::optional<Receive> receive;
  for (const WaitDependency& dependency : dependencies) {
    if (dependency.sends) continue;
    if (dependency.process == kNoIndex || dependency.uncounted || receive) return std::nullopt;
    for (const Message& message : MessagesOf(analysis.Args(*dependency.event))) {
      if (message.sends || message.tag == ring::kAnyTag) continue;
      const uint32_t communicator = analysis.CommunicatorOf(*dependency.event);
      receive = {process, message.tag, EdgeOf(analysis, communicator, dependency.process, process)};
    }
  }
  return receive;
}

// Whether the awaited message was sent with another tag. Either the other tag is the one of the
// ring, which other ranks send as often, and no rank sends the awaited one; or the awaited one is
// the ring's, and including the odd one this pair has sent no more messages than another pair.
bool HasAnotherTag(const Receive& receive, const std::vector<Receive>& all) {
  const auto others_wait_for = [&](int32_t tag) {
    return std::any_of(all.begin(), all.end(), [&](const Receive& other) {
      return other.waiter != receive.waiter && other.tag == tag;
    });
  };
  const auto most_elsewhere = [&](int32_t tag) {
    uint64_t most = 0;
    for (const Receive& other : all) {
      if (other.waiter != receive.waiter) most = std::max(most, Edge::Count(other.edge.sent, tag));
    }
    return most;
  };
  const uint64_t awaited = Edge::Count(receive.edge.sent, receive.tag);
  return std::any_of(receive.edge.sent.begin(), receive.edge.sent.end(), [&](const auto& entry) {
    const auto& [tag, count] = entry;
    if (tag == receive.tag || !receive.edge.IsLeft(tag)) return false;
    if (awaited == 0 && !others_wait_for(receive.tag)) {
      return (Edge::Count(receive.edge.taken, tag) > 0 || others_wait_for(tag)) &&
             count <= most_elsewhere(tag);
    }
    return others_wait_for(receive.tag) && awaited + count <= most_elsewhere(receive.tag);
  });
}

}  // namespace

std::optional<NearMiss> FindNearMiss(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const Trace& trace = analysis.trace;
  if (call.member == kNoIndex) return std::nullopt;
  const uint32_t wanted = trace.members[call.member].communicator;
  const Messages messages = MessagesOf(analysis.Args(call));
  const auto awaited = std::find_if(messages.begin(), messages.end(),
                                    [](const Message& message) { return !message.sends; });
  if (awaited == messages.end()) return std::nullopt;
  // What a rank sends to itself is taken by receives from itself or from any source.
  const bool from_itself =
      awaited->peer == ring::kAnySource || awaited->peer == trace.members[call.member].rank;
  // By the difference; each list explains more than the next.
  std::vector<NearMiss> by_tag, by_communicator, by_sender;
  bool sent_before = false;  // the awaited rank has sent it something
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
  // If several messages differ, none is an explanation: they may be for later receives.
  const auto only = [](const std::vector<NearMiss>& all, auto what) -> std::optional<NearMiss> {
    const bool one = !all.empty() && std::all_of(all.begin(), all.end(), [&](const NearMiss& miss) {
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
  }
  return elsewhere;
}

std::vector<uint32_t> ThoseWithAnotherTag(const Analysis& analysis,
                                          const std::vector<uint32_t>& ring) {
  std::vector<Receive> receives;
  for (const uint32_t p : ring) {
    if (std::optional<Receive> receive = ReceiveOf(analysis, p)) {
      receives.push_back(std::move(*receive));
    }
  }
  std::vector<uint32_t> those;
  for (const Receive& receive : receives) {
    if (HasAnotherTag(receive, receives)) those.push_back(receive.waiter);
  }
  // A difference that all of them have is how the program works.
  if (those.size() == ring.size()) those.clear();
  return those;
}

}  // namespace rollcall
