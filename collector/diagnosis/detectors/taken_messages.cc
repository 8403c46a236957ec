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
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/waiting.h"
#include "collector/diagnosis/graph/message_supply.h"

namespace rollcall {
namespace {

// More than this may be under way for long.
constexpr uint64_t kShortBytes = uint64_t{1} << 20;

// The bytes of what the call sends; more than kShortBytes if that is not known.
uint64_t BytesSent(const Analysis& analysis, const Event& event) {
  const Arguments& arguments = analysis.Args(event);
  const Messages messages = MessagesOf(arguments);
  if (std::ranges::none_of(messages, &Message::sends)) return 0;
  if (std::ranges::any_of(messages, &Message::partitioned)) return UINT64_MAX;
  if (arguments.send_count == 0) return 0;
  if (arguments.send_datatype == kNoIndex) return UINT64_MAX;
  const uint64_t bytes = analysis.trace.datatypes[arguments.send_datatype].bytes;
  if (bytes == 0 || arguments.send_count > kShortBytes / bytes) return UINT64_MAX;
  return arguments.send_count * bytes;
}

bool IsOfFile(Kind kind) {
  return kind == Kind::kFile || kind == Kind::kOpenFile || kind == Kind::kCloseFile;
}

// Whether the process is inside MPI and has not moved for long. False for a process that accesses a
// file: that may take long, too. Adds the bytes that the process sends to `*bytes`.
bool IsSettled(const Analysis& analysis, uint32_t p, uint64_t* bytes) {
  if (!IsInsideForLong(analysis, p)) return false;
  const auto add = [&](const Event& event) {
    const uint64_t more = BytesSent(analysis, event);
    *bytes = std::min(kShortBytes + 1, *bytes + std::min(kShortBytes + 1, more));
  };
  const Process& process = analysis.trace.processes[p];
  for (const OpenRequest& request : process.open_requests) {
    if (request.state == ring::RequestState::kActive) add(request.event);
  }
  for (const OpenCall& call : process.open_calls) {
    if (IsOfFile(analysis.KindOf(call.event))) return false;
    add(call.event);
  }
  return true;
}

// Returns whether all ranks of the job are settled, and all that they send is delivered by now.
bool IsSettled(const Analysis& analysis, const World& world) {
  uint64_t bytes = 0;
  return HasAllTraces(world) && std::ranges::all_of(world.processes, [&](uint32_t p) {
           return IsSettled(analysis, p, &bytes) && bytes <= kShortBytes;
         });
}

// Whether the records have every message of the process, and every receive of it.
bool IsOnRecord(const Analysis& analysis, uint32_t p) {
  const Process& process = analysis.trace.processes[p];
  const auto is_lost = [](const Thread& thread) { return thread.lost_p2p != 0; };
  const auto is_special = [&](const Event& event) {
    const Operation operation = analysis.Op(event);
    const Kind kind = analysis.KindOf(event);
    return operation == Operation::kMprobe || operation == Operation::kImprobe ||
           kind == Kind::kMrecv || kind == Kind::kImrecv || kind == Kind::kCancel ||
           kind == Kind::kPersistentP2p;
  };
  return process.table_overflows == 0 && process.records_unreadable == 0 &&
         !process.channels_lost && std::ranges::none_of(process.threads, is_lost) &&
         std::ranges::none_of(process.channels, &Channel::receives_unseen) &&
         std::ranges::none_of(process.p2p, is_special);
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
  const bool wider = PatternOf(*message) != PatternOf(wanted);
  const bool earlier =
      std::pair(other.start_ns, other.request) < std::pair(awaited.start_ns, awaited.request);
  return wider && earlier && Covers(*message, wanted);
}

// The requests of other receives of `p` that are not known to have no message.
std::vector<const Event*> OtherRequests(const Analysis& analysis, uint32_t p,
                                        const Event& awaited) {
  std::vector<const Event*> others;
  for (const OpenRequest& request : analysis.trace.processes[p].open_requests) {
    const bool idle = request.state == ring::RequestState::kInactive ||
                      request.state == ring::RequestState::kFree;
    if (idle || &request.event == &awaited || request.event.member != awaited.member) continue;
    if (ReceivedBy(analysis, request.event)) others.push_back(&request.event);
  }
  return others;
}

// The number of receives with wildcards that returned, and whose senders or tags are not on record,
// because the program ignored the status.
uint64_t UnknownReceives(const Analysis& analysis, uint32_t p, const Event& awaited) {
  uint64_t unknown = 0;
  for (const Channel& channel : analysis.trace.processes[p].channels) {
    const bool any = MessagePattern{channel.peer, channel.tag}.HasWildcard();
    if (any && channel.member == awaited.member) unknown += channel.received;
  }
  return unknown;
}

// The last receive with a wildcard that returned and may have taken the message of `awaited`.
// nullptr if there is none, or if the program saw the status of some of these receives: which of
// them it saw is not on record.
const Event* LastUnknownTaker(const Analysis& analysis, uint32_t p, const Event& awaited) {
  const std::vector<const Event*> others = OtherRequests(analysis, p, awaited);
  const Event* taker = nullptr;
  uint64_t returned = 0;
  for (const Event& past : analysis.trace.processes[p].p2p) {
    const std::optional<Message> message = ReceivedBy(analysis, past);
    if (!message || past.member != awaited.member || !PatternOf(*message).HasWildcard()) continue;
    const auto is_this = [&](const Event* other) {
      return past.request != 0 && other->request == past.request;
    };
    if (past.end_ns == kNoTime || std::ranges::any_of(others, is_this)) continue;
    ++returned;
    if (MayTake(analysis, past, awaited)) taker = &past;
  }
  return returned == UnknownReceives(analysis, p, awaited) ? taker : nullptr;
}

// The receive of `p` that has the message of `awaited`: an open one, or one that has returned. As
// many messages were sent as they all need. nullptr if there is no such receive.
const Event* FindTaker(const Analysis& analysis, MessageSupply* supply, uint32_t p,
                       const Event& awaited) {
  const std::vector<const Event*> others = OtherRequests(analysis, p, awaited);
  const auto open = std::ranges::find_if(
      others, [&](const Event* other) { return MayTake(analysis, *other, awaited); });
  const Event* taker = open != others.end() ? *open : LastUnknownTaker(analysis, p, awaited);
  if (taker == nullptr) return nullptr;
  const Message taken = *ReceivedBy(analysis, *taker);
  const auto needed = 1 + std::ranges::count_if(others, [&](const Event* other) {
                        return PatternOf(*ReceivedBy(analysis, *other)).Overlaps(PatternOf(taken));
                      });
  return supply->LeastLeft(p, analysis.CommunicatorOf(awaited), taken) >= needed ? taker : nullptr;
}

// Whether no other receive of `p` can have taken the message of `awaited`.
bool IsForItAlone(const Analysis& analysis, uint32_t p, const Event& awaited) {
  const Message wanted = *ReceivedBy(analysis, awaited);
  return UnknownReceives(analysis, p, awaited) == 0 &&
         std::ranges::none_of(OtherRequests(analysis, p, awaited), [&](const Event* other) {
           return PatternOf(*ReceivedBy(analysis, *other)).Overlaps(PatternOf(wanted));
         });
}

// The receives that the process waits for, all of which have a message on its way; empty if the
// process waits for anything else.
std::vector<const Event*> ReceivesWithMessages(const Analysis& analysis, MessageSupply* supply,
                                               uint32_t p) {
  const ProcessView& view = analysis.graph.processes[p];
  if (view.activity != Activity::kBlocked || view.any || !view.dependencies.empty()) return {};
  if (analysis.trace.processes[p].open_calls.size() != 1 || view.open == nullptr) return {};
  const std::vector<const Event*> calls = AwaitedCalls(analysis, p);
  // Of what it waits for, all must be known.
  if (calls.size() != std::max<size_t>(1, view.open->requests.size())) return {};
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

// One of the receives that `p` waits for, and the other receive that has taken its message; empty
// if there is none.
std::optional<Incident> TakenFrom(const Analysis& analysis, MessageSupply* supply, uint32_t p,
                                  const std::vector<const Event*>& receives) {
  for (const Event* awaited : receives) {
    const Event* taker = FindTaker(analysis, supply, p, *awaited);
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

}  // namespace

void FindTakenMessages(const Analysis& analysis, std::vector<Incident>* incidents) {
  if (!incidents->empty()) return;
  MessageSupply supply(analysis.trace);
  for (const World& world : analysis.trace.worlds) {
    if (!IsSettled(analysis, world)) continue;
    const bool on_record =
        std::ranges::all_of(world.processes, [&](uint32_t p) { return IsOnRecord(analysis, p); });
    Incident lost;
    lost.what = Incident::What::kUndelivered;
    lost.hangs = true;
    bool any_taken = false;
    for (const uint32_t p : world.processes) {
      const std::vector<const Event*> receives = ReceivesWithMessages(analysis, &supply, p);
      if (receives.empty() || !IsOnRecord(analysis, p)) continue;
      if (std::optional<Incident> taken = TakenFrom(analysis, &supply, p, receives)) {
        incidents->push_back(*std::move(taken));
        any_taken = true;
      }
      const auto alone = [&](const Event* call) { return IsForItAlone(analysis, p, *call); };
      if (!on_record || !std::ranges::all_of(receives, alone)) continue;
      lost.agreeing.push_back(p);
      if (lost.agreeing_event == nullptr) lost.agreeing_event = receives.front();
    }
    if (any_taken || lost.agreeing.empty()) continue;
    lost.communicator = analysis.CommunicatorOf(*lost.agreeing_event);
    incidents->push_back(std::move(lost));
  }
}

}  // namespace rollcall
