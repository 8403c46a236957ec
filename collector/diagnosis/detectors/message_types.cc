// SPDX-License-Identifier: Apache-2.0
// Derives from the records alone which send matched which receive, and checks that both describe
// the same message.
//
// Messages of one source, destination and communicator match in the order in which both sides
// posted them, where the tags match (MPI 4.0, 3.5), whatever the timing. So each receive takes the
// first remaining message that it matches. Nothing is derived after an uncertain event: a receive
// from any source, a cancelled or failed call, lost records, concurrent threads. An uncertain
// receive does not affect receives with other tags. Linear in the number of records, except for
// receives of any tag, which examine each tag in use.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/graph/message_supply.h"
#include "collector/matching/data_matching.h"
#include "collector/model/messages.h"

namespace rollcall {
namespace {

// One end of a message, in posting order.
struct Posting {
  uint32_t process = kNoIndex;
  const Event* event = nullptr;          // for a persistent request, its start
  const Arguments* arguments = nullptr;  // its own, or those of its request's initialization
  Message message;
  uint32_t communicator = kNoIndex;
  uint32_t peer = kNoIndex;  // a process; kNoIndex: any
  bool certain = true;       // false: it may not have been posted, or may have matched nothing
};

// All messages that one process posts, in order, as far as the order is certain.
class Postings {
 public:
  Postings(const Analysis& analysis, const MessageSupply& messages, uint32_t process)
      : analysis_(analysis),
        trace_(analysis.trace),
        messages_(messages),
        process_(process),
        record_(analysis.trace.processes[process]) {}

  template <typename Visit>
  void VisitAll(const Visit& visit) {
    if (!IsWhole()) return;
    const size_t end = CertainEnd();
    for (size_t i = 0; i < end; ++i) {
      const Event& event = record_.p2p[i];
      if (analysis_.KindOf(event) == Kind::kCancel) cancelled_.insert(event.request);
    }
    if (cancelled_.contains(0)) return;  // any request may have been cancelled
    for (size_t i = 0; i < end; ++i) {
      // Nested calls are made by a tool on behalf of a user's call, or by a callback.
      if ((analysis_.Args(record_.p2p[i]).flags & ring::kNested) != 0) return;
      VisitCall(record_.p2p[i], visit);
    }
  }

 private:
  bool IsWhole() const {
    if (record_.device || record_.records_unreadable != 0 || record_.table_overflows != 0 ||
        record_.p2p.empty()) {
      return false;
    }
    if (std::ranges::any_of(record_.threads,
                            [](const Thread& thread) { return thread.lost_p2p != 0; })) {
      return false;
    }
    // Calls of threads that take turns are ordered. Calls of concurrent threads are not.
    const bool turns = record_.thread_level >= 0 && record_.thread_level <= 2;
    return turns || std::ranges::all_of(record_.p2p, [this](const Event& event) {
             return event.thread == record_.p2p.front().thread;
           });
  }

  // The end of the certain calls: a failed call may have had any effect. But a call whose message
  // was truncated has received it.
  size_t CertainEnd() const {
    size_t end = record_.p2p.size();
    for (const Event& error : record_.lifecycle) {
      if (analysis_.Op(error) != Operation::kCallError) continue;
      if (IsTruncation(record_, error.detail)) continue;
      while (end > 0 && record_.p2p[end - 1].start_ns > error.start_ns) --end;
      return end == 0 ? 0 : end - 1;
    }
    return end;
  }

  template <typename Visit>
  void VisitCall(const Event& event, const Visit& visit) {
    const Arguments& arguments = analysis_.Args(event);
    switch (analysis_.KindOf(event)) {
      case Kind::kSend:
      case Kind::kRecv:
      case Kind::kSendrecv:
      case Kind::kIsend:
      case Kind::kIrecv:
        return Post(event, event, !cancelled_.contains(event.request), visit);
      case Kind::kMrecv:
      case Kind::kImrecv: {
        // The probe that matched the message is known only if there was one probe.
        const bool certain = probed_ == 1 && !cancelled_.contains(event.request);
        probed_ -= std::min<size_t>(probed_, 1);
        return Post(event, event, certain, visit);
      }
      case Kind::kProbe:
      case Kind::kIprobe:
        probed_ +=
            arguments.operation == Operation::kMprobe || arguments.operation == Operation::kImprobe;
        return;
      case Kind::kPersistentP2p:
        if (MessagesOf(arguments).empty() || MessagesOf(arguments).begin()->partitioned) return;
        made_[event.request] = &event;
        if (unnamed_starts_ || cancelled_.contains(event.request)) {
          Post(event, event, false, visit);
        }
        return;
      case Kind::kStart:
        if (const auto made = made_.find(event.request); made != made_.end()) {
          Post(event, *made->second, !cancelled_.contains(event.request), visit);
        }
        return;
      case Kind::kStartall:
        // The records do not show which requests were started, and in which order.
        if (std::exchange(unnamed_starts_, true)) return;
        for (const auto& [request, init] : made_) Post(event, *init, false, visit);
        return;
      default:
        return;
    }
  }

  template <typename Visit>
  void Post(const Event& event, const Event& described, bool certain, const Visit& visit) {
    if (described.member == kNoIndex) return;
    const uint32_t communicator = trace_.members[described.member].communicator;
    constexpr uint32_t kOthers =
        ring::kIsNccl | ring::kIsWindow | ring::kIsFile | ring::kWeakIdentity;
    if ((trace_.communicators[communicator].flags & kOthers) != 0) return;
    const Arguments& arguments = analysis_.Args(described);
    const std::vector<int32_t>& peers = messages_.Peers(communicator, record_.rank);
    for (const Message& message : MessagesOf(arguments)) {
      // A receive between a matched probe and its MPI_Mrecv may take a message that was sent after
      // the probed one.
      const bool behind_probe = !message.sends && !message.matched && probed_ != 0;
      Posting posting{
          process_, &event, &arguments, message, communicator, kNoIndex, certain && !behind_probe};
      if (message.peer != ring::kAnySource) {
        if (message.peer < 0 || static_cast<size_t>(message.peer) >= peers.size()) continue;
        posting.peer = ProcessOf(trace_, record_.world, peers[static_cast<size_t>(message.peer)]);
        if (posting.peer == kNoIndex) continue;
      }
      visit(posting);
    }
  }

  const Analysis& analysis_;
  const Trace& trace_;
  const MessageSupply& messages_;
  const uint32_t process_;
  const Process& record_;
  std::set<uint64_t> cancelled_;                     // requests that are cancelled now or later
  std::unordered_map<uint64_t, const Event*> made_;  // initializations of persistent requests
  bool unnamed_starts_ = false;
  size_t probed_ = 0;  // messages taken by matched probes and not yet received
};

class MessageMatcher {
 public:
  MessageMatcher(const Analysis& analysis, std::vector<Incident>* incidents)
      : analysis_(analysis), incidents_(*incidents) {}

  void Match() {
    const auto count = static_cast<uint32_t>(analysis_.trace.processes.size());
    for (uint32_t p = 0; p < count; ++p) {
      Postings(analysis_, messages_, p).VisitAll([this](const Posting& posting) { Keep(posting); });
    }
    for (uint32_t p = 0; p < count; ++p) {
      blurred_.clear();
      Postings(analysis_, messages_, p).VisitAll([this](const Posting& posting) {
        if (!posting.message.sends) Receive(posting);
      });
    }
  }

 private:
  using Edge = std::tuple<uint32_t, uint32_t, uint32_t>;  // communicator, from, to
  struct Sent {
    const Event* event;
    const Arguments* arguments;
  };
  struct Queue {
    std::vector<Sent> sends;
    size_t next = 0;
    bool Empty() const { return next == sends.size(); }
  };
  struct Route {
    std::map<int32_t, Queue> by_tag;
    bool closed = false;  // later messages are not certain
  };

  void Keep(const Posting& posting) {
    if (!posting.message.sends) return;
    Route& route = routes_[{posting.communicator, posting.process, posting.peer}];
    route.closed |= !posting.certain;
    if (route.closed) return;
    route.by_tag[posting.message.tag].sends.push_back({posting.event, posting.arguments});
  }

  // Processes the receives of one process in order.
  void Receive(const Posting& posting) {
    const int32_t tag = posting.message.tag;
    const uint32_t comm = posting.communicator;
    if (posting.peer == kNoIndex || !posting.certain || IsBlurred(comm, posting.peer, tag)) {
      // A receive from this source, or from any source, may have taken any message with this tag.
      blurred_.insert({comm, posting.peer, tag});
      return;
    }
    const auto found = routes_.find({comm, posting.peer, posting.process});
    if (found == routes_.end()) return;
    Queue* queue = QueueFor(&found->second, tag);
    if (queue == nullptr) return;
    const Sent sent = queue->sends[queue->next++];
    Compare(sent, posting);
  }

  bool IsBlurred(uint32_t communicator, uint32_t from, int32_t tag) const {
    for (const uint32_t source : {from, kNoIndex}) {
      if (blurred_.contains({communicator, source, tag})) return true;
      if (blurred_.contains({communicator, source, ring::kAnyTag})) return true;
      if (tag != ring::kAnyTag) continue;
      const auto any = blurred_.lower_bound({communicator, source, INT32_MIN});
      if (any == blurred_.end()) continue;
      if (std::get<0>(*any) == communicator && std::get<1>(*any) == source) return true;
    }
    return false;
  }

  Queue* QueueFor(Route* route, int32_t tag) {
    if (tag != ring::kAnyTag) {
      const auto found = route->by_tag.find(tag);
      return found == route->by_tag.end() || found->second.Empty() ? nullptr : &found->second;
    }
    Queue* first = nullptr;
    for (auto& [other, queue] : route->by_tag) {
      if (queue.Empty()) continue;
      const auto sent = [](const Queue& one) { return one.sends[one.next].event; };
      if (first == nullptr || sent(queue) < sent(*first)) first = &queue;
    }
    return first;
  }

  void Compare(const Sent& sent, const Posting& receive) {
    Mismatch mismatch = MatchMessage(analysis_.trace, *sent.arguments, *receive.arguments);
    if (!mismatch) return;
    const auto key = std::tuple(mismatch.kind, mismatch.cut_off, analysis_.Site(*sent.event),
                                analysis_.Site(*receive.event));
    const auto [entry, added] = known_.emplace(key, incidents_.size());
    if (!added) {
      ++incidents_[entry->second].repeated;
      return;
    }
    incidents_.push_back(MessageIncident(receive.peer, *sent.event, receive.process, *receive.event,
                                         receive.communicator, std::move(mismatch)));
  }

  const Analysis& analysis_;
  std::vector<Incident>& incidents_;
  MessageSupply messages_{analysis_.trace};
  std::map<Edge, Route> routes_;
  std::set<std::tuple<uint32_t, uint32_t, int32_t>> blurred_;  // communicator, source, tag
  std::map<std::tuple<MismatchKind, bool, uint64_t, uint64_t>, size_t> known_;
};

}  // namespace

Incident MessageIncident(uint32_t sender, const Event& send, uint32_t receiver,
                         const Event& receive, uint32_t communicator, Mismatch mismatch) {
  Incident incident;
  incident.what = Incident::What::kMessageSize;
  incident.communicator = communicator;
  incident.deviating = {sender, receiver};
  incident.agreeing = incident.deviating;
  incident.deviating_event = &send;
  incident.agreeing_event = &receive;
  incident.mismatch = std::move(mismatch);
  return incident;
}

void FindUnevenMessages(const Analysis& analysis, std::vector<Incident>* incidents) {
  MessageMatcher(analysis, incidents).Match();
}

Incident* CutOffMessage(std::vector<Incident>* incidents, uint32_t process) {
  const auto it = std::ranges::find_if(*incidents, [&](const Incident& one) {
    return one.what == Incident::What::kMessageSize && one.mismatch.cut_off &&
           one.deviating.back() == process;
  });
  return it == incidents->end() ? nullptr : &*it;
}

void FoldDeparturesAfterErrors(const Analysis& analysis, std::vector<Incident>* incidents) {
  const auto is_consequence = [&](const Incident& incident) {
    if (incident.what != Incident::What::kLeft && incident.what != Incident::What::kMessage)
      return false;
    Incident* message = nullptr;
    for (const std::vector<uint32_t>* side : {&incident.deviating, &incident.agreeing}) {
      for (const uint32_t p : *side) {
        if (analysis.graph.processes[p].activity != Activity::kLeft) continue;
        message = CutOffMessage(incidents, p);
        if (message == nullptr || analysis.trace.processes[p].errors_seen == 0) return false;
      }
    }
    if (message == nullptr) return false;
    message->hangs |= incident.hangs;
    return true;
  };
  std::vector<Incident> kept;
  std::vector<bool> drops;
  for (const Incident& incident : *incidents) drops.push_back(is_consequence(incident));
  for (size_t i = 0; i < drops.size(); ++i) {
    if (!drops[i]) kept.push_back(std::move((*incidents)[i]));
  }
  *incidents = std::move(kept);
}

}  // namespace rollcall
