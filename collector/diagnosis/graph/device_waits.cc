// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/device_waits.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "collector/diagnosis/graph/deaths.h"

namespace rollcall {

bool NeedsAll(const Arguments& call) {
  switch (call.operation) {
    case Operation::kC10dDeviceAllGather:
    case Operation::kC10dDeviceAllGatherCoalesced:
    case Operation::kC10dDeviceReduceScatter:
    case Operation::kC10dDeviceReduceScatterCoalesced:
      return call.send_datatype != kNoIndex;
    case Operation::kTorchAllReduce:
    case Operation::kTorchAllGather:
    case Operation::kTorchReduceScatter:
    case Operation::kTorchAllToAll:
    case Operation::kTorchBarrier:
    case Operation::kC10dDeviceAllReduce:
    case Operation::kC10dDeviceAllReduceCoalesced:
    case Operation::kC10dDeviceBarrier:
    case Operation::kNcclAllReduce:
    case Operation::kNcclAllGather:
    case Operation::kNcclReduceScatter:
    case Operation::kNcclAlltoAll:
      return true;
    default:
      return false;
  }
}

namespace {

// All messages that two members sent each other in one direction, as far as they are recorded.
struct MessagesSeen {
  uint32_t sender = kNoIndex;  // processes; kNoIndex until one of its calls is seen
  uint32_t receiver = kNoIndex;
  std::vector<const Event*> sends;
  std::vector<const Event*> recvs;
};

// Communicator, sender, receiver, and the carrier: for a message of a process group, NCCL's
// communicator (RingReferences::OnCarrier). Messages on two carriers never match.
using ChannelKey = std::tuple<uint32_t, int32_t, int32_t, int32_t>;

class DeviceWaitsBuilder {
 public:
  DeviceWaitsBuilder(const Trace& trace, const std::vector<CommunicatorHistory>& histories)
      : trace_(trace), histories_(histories) {}

  DeviceWaits Build() {
    const size_t count = trace_.processes.size();
    waits_.oldest.assign(count, kNoIndex);
    for (const Process& process : trace_.processes) waits_.any |= process.device;
    if (!waits_.any) return std::move(waits_);
    for (uint32_t p = 0; p < count; ++p) {
      if (trace_.processes[p].device) CollectMessages(p);
    }
    for (uint32_t p = 0; p < count; ++p) {
      const Process& process = trace_.processes[p];
      const OpenRequest* oldest = OldestHandedOver(trace_, process);
      // If older operations are lost, the oldest recorded operation is not the oldest one.
      if (!process.device || oldest == nullptr || process.table_overflows != 0 || IsGone(p)) {
        continue;
      }
      AddOldest(p, *oldest);
    }
    for (uint32_t i = 0; i < waits_.operations.size(); ++i) {
      DeviceOperation& operation = waits_.operations[i];
      operation.IsMessage() ? FillMessage(i, &operation) : FillCollective(i, &operation);
    }
    FindLags();
    FindUneven();
    return std::move(waits_);
  }

 private:
  Operation Op(const Event& event) const { return trace_.arguments[event.arguments].operation; }
  const Member& MemberOf(const Event& event) const { return trace_.members[event.member]; }

  // Whether the process is gone. Its operations end with it.
  bool IsGone(uint32_t process) const {
    return trace_.processes[process].phase >= ring::Phase::kFinalizing ||
           deaths_.ByItself(trace_.processes[process]);
  }

  // Whether every message of this process is recorded from the first one on.
  bool KnowsAllMessages(uint32_t process) const {
    const std::vector<Thread>& threads = trace_.processes[process].threads;
    return std::ranges::none_of(threads, [](const Thread& thread) { return thread.lost_p2p != 0; });
  }

  bool Sends(const Event& event) const {
    return FindOperation(static_cast<uint16_t>(Op(event))).kind == Kind::kIsend;
  }

  bool KeyOf(const Event& event, ChannelKey* key) const {
    if (!IsOnDevice(Op(event))) return false;  // an MPI call
    const Member& member = MemberOf(event);
    const int32_t peer = trace_.arguments[event.arguments].root_or_peer;
    if (peer < 0 || member.rank < 0) return false;
    const bool sends = Sends(event);
    *key = {member.communicator, sends ? member.rank : peer, sends ? peer : member.rank,
            trace_.arguments[event.arguments].tag2};
    return true;
  }

  void CollectMessages(uint32_t p) {
    for (const Event& event : trace_.processes[p].p2p) {
      ChannelKey key;
      if (!KeyOf(event, &key) || IsHeldMessage(trace_.processes[p], event)) continue;
      MessagesSeen& messages = channels_[key];
      const bool sends = Sends(event);
      (sends ? messages.sender : messages.receiver) = p;
      (sends ? messages.sends : messages.recvs).push_back(&event);
    }
  }

  // Whether the carrier is known for only some of the messages between the two ranks. It is then
  // unknown which of the messages match.
  bool IsUncertain(const ChannelKey& key) const {
    const auto& [communicator, sender, receiver, carrier] = key;
    const auto first = channels_.lower_bound({communicator, sender, receiver, INT32_MIN});
    const auto last = channels_.upper_bound({communicator, sender, receiver, INT32_MAX});
    return std::distance(first, last) > 1 &&
           channels_.contains({communicator, sender, receiver, ring::kNoTag});
  }

  // Without the whole history, only the open operations of both sides can be compared.
  void Align(MessagesSeen* messages) const {
    if (messages->sender != kNoIndex && messages->receiver != kNoIndex &&
        KnowsAllMessages(messages->sender) && KnowsAllMessages(messages->receiver)) {
      return;
    }
    for (auto* list : {&messages->sends, &messages->recvs}) {
      std::erase_if(*list, [](const Event* event) { return event->end_ns != kNoTime; });
    }
  }

  void AddOldest(uint32_t p, const OpenRequest& request) {
    const Event& event = request.event;
    DeviceOperation operation;
    operation.communicator = MemberOf(event).communicator;
    operation.sequence = event.sequence;
    operation.event = &event;
    std::tuple<uint32_t, uint64_t, int32_t, int32_t, uint64_t> key{operation.communicator,
                                                                   event.sequence, -1, -1, 0};
    if (event.sequence == 0) {
      ChannelKey channel;
      if (KeyOf(event, &channel)) {
        MessagesSeen& messages = channels_[channel];
        if (aligned_.emplace(channel, true).second) Align(&messages);
        operation.sender = messages.sender;
        operation.receiver = messages.receiver;
        operation.judged = !IsUncertain(channel);
        const auto& own = Sends(event) ? messages.sends : messages.recvs;
        for (const Event* other : own) {
          if (other->detail == event.detail) break;
          ++operation.nth;
        }
        // As a number: no collective has a sender.
        const uint64_t carrier = static_cast<uint32_t>(std::get<3>(channel));
        key = {operation.communicator, carrier, std::get<1>(channel), std::get<2>(channel),
               operation.nth + 1};
      } else {
        operation.judged = false;
        key = {operation.communicator, 0, -1, static_cast<int32_t>(p), 0};
      }
    }
    const auto [entry, added] =
        index_.emplace(key, static_cast<uint32_t>(waits_.operations.size()));
    if (added) {
      waits_.operations.push_back(operation);
      keys_.push_back(key);
    }
    waits_.oldest[p] = entry->second;
  }

  // Whether the operation is open and in one launch with the oldest operation of process `q`. If
  // so, the operation is queued after nothing else, either.
  bool StandsWithOldest(uint32_t q, uint32_t member, uint64_t sequence, uint64_t detail) const {
    const Process& process = trace_.processes[q];
    if (waits_.oldest[q] == kNoIndex) return false;
    const uint64_t launch = OldestHandedOver(trace_, process)->launch;
    return launch != 0 &&
           std::ranges::any_of(process.open_requests, [&](const OpenRequest& request) {
             const Event& event = request.event;
             return request.launch == launch && !request.held && event.member == member &&
                    event.sequence == sequence && (sequence != 0 || event.detail == detail);
           });
  }

  void FillCollective(uint32_t index, DeviceOperation* operation) const {
    const uint64_t n = operation->sequence;
    operation->absent = histories_[operation->communicator].absent;
    bool running = false;
    for (const MemberHistory& history : histories_[operation->communicator].members) {
      const uint32_t q = history.process;
      const Event* event = history.At(n);
      const Member& member = *history.member;
      if (waits_.oldest[q] == index || StandsWithOldest(q, history.member_index, n, 0)) {
        operation->first.push_back(q);
        if (OldestHandedOver(trace_, trace_.processes[q])->running) {
          running = true;
        } else {
          operation->idle.push_back(q);
        }
      } else if (event != nullptr ? event->end_ns != kNoTime
                                  : member.completed >= n && history.entered >= n) {
        operation->done.push_back(q);
      } else if (IsGone(q) || IsHeld(trace_.processes[q], history.member_index, n) ||
                 HasStopped(member, event)) {
        operation->missing.push_back(q);
      } else if (event != nullptr || history.entered >= n) {
        operation->behind.push_back(q);
      } else if (member.counted) {
        operation->missing.push_back(q);
      } else {
        operation->unknown.push_back(q);
      }
    }
    if (!running) operation->idle.clear();
  }

  void FillMessage(uint32_t index, DeviceOperation* operation) {
    const Event& event = *operation->event;
    const bool sends = Sends(event);
    const Communicator& comm = trace_.communicators[operation->communicator];
    const int32_t peer = trace_.arguments[event.arguments].root_or_peer;
    uint32_t other = sends ? operation->receiver : operation->sender;
    if (other == kNoIndex && peer >= 0 && static_cast<size_t>(peer) < comm.ranks.size()) {
      // The peer has no recorded call on this channel. Find out whether it has a trace.
      const int32_t rank = comm.ranks[static_cast<size_t>(peer)];
      for (const MemberHistory& history : histories_[operation->communicator].members) {
        if (trace_.processes[history.process].rank == rank) other = history.process;
      }
      if (other == kNoIndex) operation->absent.push_back(rank);
    }
    (sends ? operation->receiver : operation->sender) = other;
    for (const uint32_t q : {operation->sender, operation->receiver}) {
      if (q == kNoIndex) continue;
      if (waits_.oldest[q] == index) {
        operation->first.push_back(q);
        continue;
      }
      const auto& [c, s, from, to, nth] = keys_[index];
      const MessagesSeen& messages = channels_[{c, from, to, static_cast<int32_t>(s)}];
      const auto& theirs = q == operation->sender ? messages.sends : messages.recvs;
      if (operation->nth < theirs.size() &&
          StandsWithOldest(q, theirs[operation->nth]->member, 0, theirs[operation->nth]->detail)) {
        operation->first.push_back(q);
      } else if (operation->nth >= theirs.size() ||
                 (IsGone(q) && theirs[operation->nth]->end_ns == kNoTime)) {
        operation->missing.push_back(q);
      } else if (theirs[operation->nth]->end_ns == kNoTime) {
        operation->behind.push_back(q);
      } else {
        operation->done.push_back(q);
      }
    }
    if (operation->absent.empty() && other == kNoIndex) operation->judged = false;
  }

  void FindLags() {
    std::vector<uint64_t> furthest(trace_.communicators.size(), 0);
    for (size_t c = 0; c < histories_.size(); ++c) {
      for (const MemberHistory& history : histories_[c].members) {
        furthest[c] = std::max(furthest[c], history.member->completed);
      }
    }
    for (uint32_t p = 0; p < trace_.processes.size(); ++p) {
      if (!trace_.processes[p].device || IsGone(p)) continue;
      std::vector<uint32_t> seen;
      for (const OpenRequest& request : trace_.processes[p].open_requests) {
        const Event& event = request.event;
        if (event.sequence == 0 || request.held || !IsOnDevice(Op(event))) continue;
        const uint32_t c = MemberOf(event).communicator;
        if (event.sequence > furthest[c] || EndedWithin(c, event.sequence)) continue;
        if (std::ranges::find(seen, c) != seen.end()) continue;
        if (MayBeHeldByItsGroup(trace_, histories_, p, event)) continue;
        // Other ranks may complete the operation before this rank begins it. On this rank the
        // operation may be queued after other work.
        const bool first = OldestHandedOver(trace_, trace_.processes[p]) == &request;
        if (!NeedsAll(trace_.arguments[event.arguments]) &&
            !(first && AllOthersDone(p, c, event.sequence))) {
          continue;
        }
        seen.push_back(c);
        waits_.lags.push_back({p, c, event.sequence, &event});
      }
      const uint32_t oldest = waits_.oldest[p];
      if (!seen.empty() || oldest == kNoIndex) continue;
      const DeviceOperation& operation = waits_.operations[oldest];
      if (operation.IsMessage() && operation.judged && !operation.done.empty() &&
          !MayBeHeldByItsGroup(trace_, histories_, p, *operation.event)) {
        waits_.lags.push_back({p, operation.communicator, 0, operation.event});
      }
    }
  }

  // Whether a member ended without completing the operation, so that the others lack that member.
  bool EndedWithin(uint32_t communicator, uint64_t sequence) const {
    const CommunicatorHistory& histories = histories_[communicator];
    return std::ranges::any_of(histories.members, [&](const MemberHistory& history) {
      const Event* event = history.At(sequence);
      const bool completed =
          event != nullptr ? event->end_ns != kNoTime : history.member->completed >= sequence;
      return IsGone(history.process) && !completed;
    });
  }

  // In posting order, the n-th send matches the n-th receive.
  void FindUneven() {
    for (const auto& [key, messages] : channels_) {
      if (messages.sender == kNoIndex || messages.receiver == kNoIndex || IsUncertain(key) ||
          !KnowsAllMessages(messages.sender) || !KnowsAllMessages(messages.receiver)) {
        continue;
      }
      const size_t both = std::min(messages.sends.size(), messages.recvs.size());
      for (size_t i = 0; i < both; ++i) {
        if (IsEven(*messages.sends[i], *messages.recvs[i])) continue;
        waits_.uneven.push_back({std::get<0>(key), messages.sender, messages.receiver, i,
                                 messages.sends[i], messages.recvs[i]});
        break;
      }
    }
  }

  bool IsEven(const Event& send, const Event& recv) const {
    const Arguments& a = trace_.arguments[send.arguments];
    const Arguments& b = trace_.arguments[recv.arguments];
    if (a.send_datatype == kNoIndex || b.recv_datatype == kNoIndex) return true;
    if (a.send_datatype == b.recv_datatype) return a.send_count == b.recv_count;
    const uint64_t sent = trace_.datatypes[a.send_datatype].bytes * a.send_count;
    const uint64_t received = trace_.datatypes[b.recv_datatype].bytes * b.recv_count;
    return sent == received;
  }

  // A root may complete a broadcast long before the other ranks reach it.
  bool AllOthersDone(uint32_t p, uint32_t communicator, uint64_t sequence) const {
    const CommunicatorHistory& histories = histories_[communicator];
    if (!histories.absent.empty()) return false;
    return std::ranges::all_of(histories.members, [&](const MemberHistory& history) {
      return history.process == p ||
             (history.entered >= sequence && history.member->completed >= sequence);
    });
  }

  const Trace& trace_;
  const std::vector<CommunicatorHistory>& histories_;
  Deaths deaths_{trace_};
  DeviceWaits waits_;
  std::map<ChannelKey, MessagesSeen> channels_;
  std::map<ChannelKey, bool> aligned_;
  // communicator, number (of a message: its carrier), sender, receiver, nth + 1
  std::map<std::tuple<uint32_t, uint64_t, int32_t, int32_t, uint64_t>, uint32_t> index_;
  std::vector<std::tuple<uint32_t, uint64_t, int32_t, int32_t, uint64_t>> keys_;
};

}  // namespace

DeviceWaits BuildDeviceWaits(const Trace& trace,
                             const std::vector<CommunicatorHistory>& histories) {
  return DeviceWaitsBuilder(trace, histories).Build();
}

bool HasStopped(const Member& member, const Event* event) {
  return member.stopped && event != nullptr && event->end_ns == kNoTime;
}

bool IsHeldMessage(const Process& process, const Event& event) {
  return std::ranges::any_of(process.open_requests, [&](const OpenRequest& request) {
    return request.held && request.event.sequence == 0 && request.event.member == event.member &&
           request.event.detail == event.detail && request.event.start_ns == event.start_ns;
  });
}

const OpenRequest* OldestHandedOver(const Trace& trace, const Process& process) {
  for (const OpenRequest& request : process.open_requests) {
    if (!request.held && IsOnDevice(trace.arguments[request.event.arguments].operation)) {
      return &request;
    }
  }
  return nullptr;
}

bool IsHeld(const Process& process, uint32_t member, uint64_t sequence) {
  return std::ranges::any_of(process.open_requests, [&](const OpenRequest& request) {
    return request.held && request.event.member == member && request.event.sequence == sequence;
  });
}

bool MayBeHeldByItsGroup(const Trace& trace, const std::vector<CommunicatorHistory>& histories,
                         uint32_t process, const Event& event) {
  const auto same = [](const Event& a, const Event& b) {
    return a.member == b.member && a.sequence == b.sequence && a.start_ns == b.start_ns;
  };
  const std::vector<OpenRequest>& requests = trace.processes[process].open_requests;
  const auto own = std::ranges::find_if(
      requests, [&](const OpenRequest& request) { return same(request.event, event); });
  if (own == requests.end() || own->launch == 0) return false;
  const uint32_t c = trace.members[event.member].communicator;
  const auto lacks = [&](uint32_t q, uint32_t communicator, uint64_t sequence) {
    const std::vector<OpenRequest>& theirs = trace.processes[q].open_requests;
    return std::ranges::any_of(theirs, [&](const OpenRequest& request) {
      return request.event.sequence == sequence &&
             trace.members[request.event.member].communicator == communicator;
    });
  };
  return std::ranges::any_of(requests, [&](const OpenRequest& other) {
    if (other.launch != own->launch || other.event.sequence == 0) return false;
    if (same(other.event, event)) return false;
    const uint32_t its = trace.members[other.event.member].communicator;
    return std::ranges::any_of(histories[its].members, [&](const MemberHistory& history) {
      return lacks(history.process, its, other.event.sequence) &&
             !lacks(history.process, c, event.sequence);
    });
  });
}

void MarkDeviceWaiters(const Trace& trace, WaitGraph* graph) {
  for (size_t p = 0; p < trace.processes.size(); ++p) {
    const Process& process = trace.processes[p];
    Activity& activity = graph->processes[p].activity;
    if (!process.device || OldestHandedOver(trace, process) == nullptr) continue;
    if (activity == Activity::kRunning) activity = Activity::kPolling;
  }
}

}  // namespace rollcall
