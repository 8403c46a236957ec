// SPDX-License-Identifier: Apache-2.0
// Finds ranks that wait for a message that was sent, and that another receive has taken. In
//   0: Irecv 1xMPI_INT peer=any tag=1 request=a @ main:13
//   0: Irecv 1xMPI_INT peer=1 tag=1 request=b @ main:14
//   1-2: Send 1xMPI_INT peer=0 tag=1 @ main:18
//   0: waits in Waitall for=a,b @ main:15
//   1-2: waits in Barrier @ main:20
// line 13 may take the message of rank 1 or of rank 2. If it takes that of rank 1, line 14 waits
// for good. Which message a receive takes is on record only when the receive is complete. But if
// all ranks are inside MPI and have not moved for the time that makes a rank stalled, messages
// whose sends have returned are delivered, and rank 0 would have returned if both receives had one.
#include <algorithm>
#include <optional>
#include <utility>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/waiting.h"
#include "collector/diagnosis/graph/message_supply.h"

namespace rollcall {
namespace {

// Returns whether the process has a send that is not complete. The message may be large, and under
// way.
bool HasOpenSend(const Analysis& analysis, uint32_t p) {
  const auto sends = [&](const Event& event) {
    return std::ranges::any_of(MessagesOf(analysis.Args(event)),
                               [](const Message& message) { return message.sends; });
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

// The receive among `receives` that may have taken the message of `awaited`: it was posted earlier,
// and its pattern is wider. nullptr if there is none.
const Event* FindTaker(const Analysis& analysis, const std::vector<const Event*>& receives,
                       const Event& awaited) {
  const Message wanted = *ReceivedBy(analysis, awaited);
  for (const Event* other : receives) {
    const Message message = *ReceivedBy(analysis, *other);
    const bool wider = message.peer != wanted.peer || message.tag != wanted.tag;
    const bool earlier =
        std::pair(other->start_ns, other->request) < std::pair(awaited.start_ns, awaited.request);
    if (Covers(message, wanted) && wider && earlier && other->member == awaited.member)
      return other;
  }
  return nullptr;
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
    return message && !HasOutsiders(analysis.trace.communicators[communicator]) &&
           supply->OnItsWay(p, communicator, *message, *call) == Counted::kYes;
  };
  return std::ranges::all_of(calls, has_message) ? calls : std::vector<const Event*>();
}

// Returns whether every rank of the job is inside MPI, has not moved for long, and has no open
// send.
bool IsSettled(const Analysis& analysis, const World& world) {
  return HasAllTraces(world) && std::ranges::all_of(world.processes, [&](uint32_t p) {
           return IsInsideForLong(analysis, p) && !HasOpenSend(analysis, p);
         });
}

}  // namespace

void FindTakenMessages(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (!incidents->empty()) return;
  MessageSupply supply(analysis.trace);
  for (const World& world : analysis.trace.worlds) {
    if (!IsSettled(analysis, world)) continue;
    for (const uint32_t p : world.processes) {
      const std::vector<const Event*> receives = ReceivesWithMessages(analysis, &supply, p);
      for (const Event* awaited : receives) {
        const Event* taker = FindTaker(analysis, receives, *awaited);
        if (taker == nullptr) continue;
        Incident incident;
        incident.what = Incident::What::kTaken;
        incident.hangs = true;
        incident.communicator = analysis.CommunicatorOf(*awaited);
        incident.deviating = {p};
        incident.deviating_event = awaited;
        incident.Set<MessageDetails>().taker = taker;
        incidents->push_back(std::move(incident));
        break;
      }
    }
  }
}

}  // namespace rollcall
