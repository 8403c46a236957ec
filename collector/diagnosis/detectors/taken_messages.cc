// SPDX-License-Identifier: Apache-2.0
// Finds ranks that wait for a message that was sent. Another receive may have taken it. In
//   0: Irecv 1xMPI_INT peer=any tag=1 request=a @ main:13
//   0: Irecv 1xMPI_INT peer=1 tag=1 request=b @ main:14
//   1-2: Send 1xMPI_INT peer=0 tag=1 @ main:18
//   0: waits in Waitall for=a,b @ main:15
//   1-2: waits in Barrier @ main:20
// line 13 may take the message of rank 1 or of rank 2. If it takes that of rank 1, line 14 waits
// for good. Which message a receive takes is on record only when the receive is complete. But if
// all ranks are inside MPI and have not moved for the time that makes a rank stalled, all messages
// that are not long are delivered, and rank 0 would have returned if both receives had one.
// If no other receive can have taken the message, the layers below the program have lost it, or a
// call that is not recorded has received it.
#include <algorithm>
#include <optional>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/waiting.h"
#include "collector/diagnosis/graph/message_supply.h"

namespace rollcall {
namespace {

// More than this may be under way for long.
constexpr uint64_t kShortBytes = uint64_t{1} << 20;

bool IsShort(const Trace& trace, const Arguments& arguments) {
  if (arguments.send_datatype == kNoIndex) return false;
  const uint64_t bytes = trace.datatypes[arguments.send_datatype].bytes;
  return bytes == 0 || arguments.send_count <= kShortBytes / bytes;
}

// Returns whether the process has a send that is not complete, and whose message may be under way.
bool HasLongSend(const Analysis& analysis, uint32_t p) {
  const auto sends = [&](const Event& event) {
    const Arguments& arguments = analysis.Args(event);
    return std::ranges::any_of(MessagesOf(arguments), [&](const Message& message) {
      return message.sends && (message.partitioned || !IsShort(analysis.trace, arguments));
    });
  };
  const Process& process = analysis.trace.processes[p];
  return std::ranges::any_of(process.open_calls,
                             [&](const OpenCall& call) { return sends(call.event); }) ||
         std::ranges::any_of(process.open_requests, [&](const OpenRequest& request) {
           return request.state == ring::RequestState::kActive && sends(request.event);
         });
}

// The message of a receive that is no probe; empty if the call is no receive.
std::optional<Message> ReceivedBy(const Analysis& analysis, const Event& event) {
  for (const Message& message : MessagesOf(analysis.Args(event))) {
    if (!message.sends && !message.probes && !message.partitioned) return message;
  }
  return std::nullopt;
}

// Whether `other` is an earlier receive with a wider pattern than `awaited`.
bool MayTake(const Analysis& analysis, const Event& other, const Event& awaited) {
  const std::optional<Message> message = ReceivedBy(analysis, other);
  const Message wanted = *ReceivedBy(analysis, awaited);
  if (!message || other.member != awaited.member) return false;
  const bool wider = message->peer != wanted.peer || message->tag != wanted.tag;
  const bool earlier =
      std::pair(other.start_ns, other.request) < std::pair(awaited.start_ns, awaited.request);
  return wider && earlier && Covers(*message, wanted);
}

// Whether one message may fit both patterns.
bool Overlap(int32_t peer, int32_t tag, const Message& other) {
  return (peer == ring::kAnySource || other.peer == ring::kAnySource || peer == other.peer) &&
         (tag == ring::kAnyTag || other.tag == ring::kAnyTag || tag == other.tag);
}

// Whether receives have returned that may have taken the message of `awaited`, and whose senders
// are not on record, because the program ignored the status.
bool WasAnyTaken(const Analysis& analysis, uint32_t p, const Event& awaited) {
  const Message wanted = *ReceivedBy(analysis, awaited);
  return std::ranges::any_of(analysis.trace.processes[p].channels, [&](const Channel& channel) {
    const bool wider = (channel.peer == ring::kAnySource && wanted.peer != ring::kAnySource) ||
                       (channel.tag == ring::kAnyTag && wanted.tag != ring::kAnyTag);
    return wider && channel.received != 0 && channel.member == awaited.member &&
           Overlap(channel.peer, channel.tag, wanted);
  });
}

// Whether no other receive of `p` can have taken the message of `awaited`. Of a persistent receive,
// an earlier start may have, whose end was not seen.
bool IsForItAlone(const Analysis& analysis, uint32_t p, const Event& awaited) {
  if (analysis.KindOf(awaited) == Kind::kPersistentP2p) return false;
  const Message wanted = *ReceivedBy(analysis, awaited);
  const auto competes = [&](const OpenRequest& request) {
    if (request.state != ring::RequestState::kActive || &request.event == &awaited) return false;
    const Messages messages = MessagesOf(analysis.Args(request.event));
    return request.event.member == awaited.member &&
           std::ranges::any_of(messages, [&](const Message& message) {
             return !message.sends && Overlap(message.peer, message.tag, wanted);
           });
  };
  return !WasAnyTaken(analysis, p, awaited) &&
         std::ranges::none_of(analysis.trace.processes[p].open_requests, competes);
}

// The receive of `p` that may have taken the message of `awaited`: an open one, or one that has
// returned. nullptr if there is none.
const Event* FindTaker(const Analysis& analysis, uint32_t p, const Event& awaited) {
  const Process& process = analysis.trace.processes[p];
  for (const OpenRequest& request : process.open_requests) {
    const bool active = request.state == ring::RequestState::kActive;
    if (active && MayTake(analysis, request.event, awaited)) return &request.event;
  }
  if (!WasAnyTaken(analysis, p, awaited)) return nullptr;
  const auto last = std::find_if(process.p2p.rbegin(), process.p2p.rend(), [&](const Event& past) {
    return MayTake(analysis, past, awaited);
  });
  return last == process.p2p.rend() ? nullptr : &*last;
}

// The receives that the process waits for, all of which have a message on its way; empty if the
// process waits for anything else.
std::vector<const Event*> ReceivesWithMessages(const Analysis& analysis, MessageSupply* supply,
                                               uint32_t p) {
  const ProcessView& view = analysis.graph.processes[p];
  if (view.activity != Activity::kBlocked || view.any || !view.dependencies.empty()) return {};
  if (analysis.trace.processes[p].open_calls.size() != 1) return {};
  const std::vector<const Event*> calls = AwaitedCalls(analysis, p);
  const auto has_message = [&](const Event* call) {
    const std::optional<Message> message = ReceivedBy(analysis, *call);
    const uint32_t communicator = analysis.CommunicatorOf(*call);
    // A Sendrecv may wait for its send.
    const bool sends = std::ranges::any_of(MessagesOf(analysis.Args(*call)), &Message::sends);
    return message && !sends && !HasOutsiders(analysis.trace.communicators[communicator]) &&
           supply->OnItsWay(p, communicator, *message, *call) == Counted::kYes;
  };
  return std::ranges::all_of(calls, has_message) ? calls : std::vector<const Event*>();
}

// One of the receives that `p` waits for, and the other receive that may have taken its message;
// empty if there is none.
std::optional<Incident> TakenFrom(const Analysis& analysis, uint32_t p,
                                  const std::vector<const Event*>& receives) {
  for (const Event* awaited : receives) {
    const Event* taker = FindTaker(analysis, p, *awaited);
    if (taker == nullptr) continue;
    Incident incident;
    incident.what = Incident::What::kTaken;
    incident.hangs = true;
    incident.communicator = analysis.CommunicatorOf(*awaited);
    incident.deviating = {p};
    incident.deviating_event = awaited;
    incident.Set<MessageDetails>().taker = taker;
    return incident;
  }
  return std::nullopt;
}

// Returns whether every rank of the job is inside MPI, has not moved for long, and sends no message
// that takes long.
bool IsSettled(const Analysis& analysis, const World& world) {
  return HasAllTraces(world) && std::ranges::all_of(world.processes, [&](uint32_t p) {
           return IsInsideForLong(analysis, p) && !HasLongSend(analysis, p);
         });
}

}  // namespace

void FindTakenMessages(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (!incidents->empty()) return;
  MessageSupply supply(analysis.trace);
  for (const World& world : analysis.trace.worlds) {
    if (!IsSettled(analysis, world)) continue;
    Incident lost;
    lost.what = Incident::What::kUndelivered;
    lost.hangs = true;
    bool any_taken = false;
    for (const uint32_t p : world.processes) {
      const std::vector<const Event*> receives = ReceivesWithMessages(analysis, &supply, p);
      if (receives.empty()) continue;
      if (std::optional<Incident> taken = TakenFrom(analysis, p, receives)) {
        incidents->push_back(*std::move(taken));
        any_taken = true;
      }
      const auto alone = [&](const Event* call) { return IsForItAlone(analysis, p, *call); };
      if (!std::ranges::all_of(receives, alone)) continue;
      lost.agreeing.push_back(p);
      if (lost.agreeing_event == nullptr) lost.agreeing_event = receives.front();
    }
    if (any_taken || lost.agreeing.empty()) continue;
    lost.communicator = analysis.CommunicatorOf(*lost.agreeing_event);
    incidents->push_back(std::move(lost));
  }
}

}  // namespace rollcall
