// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "collector/base/find.h"
#include "collector/import/ring_elements.h"
#include "collector/import/ring_parts.h"
#include "proto/mpi_errors.h"

namespace rollcall {
namespace {

// Like std::stable_sort(), for elements that are in order already unless they are damaged.
template <typename T, typename Less>
void SortStably(std::vector<T>* all, Less less) {
  if (!std::ranges::is_sorted(*all, less)) {
    std::ranges::stable_sort(*all, less);
  }
}

bool Earlier(const RingCall& a, const RingCall& b) { return a.ticks < b.ticks; }

}  // namespace

RingEvents::RingEvents(RingContext* context, RingReferences* references, RingMembers* members,
                       RingDevice* device)
    : context_(*context), references_(*references), members_(*members), device_(*device) {
  for (const ring::OpenRequest& request : context->ring.open_requests) {
    if (request.waiter != 0) awaited_[request.waiter].push_back(request.uid);
    if (IsOfGroupOnDevice(request.record)) on_device_.insert(request.uid);
  }
}

bool RingEvents::IsOfGroupOnDevice(const ring::Record& record) const {
  return IsC10d(static_cast<Operation>(record.operation)) &&
         members_.IsGroupOnDevice(record.member);
}

bool RingEvents::IsUncertain(const ring::Record& record) const {
  return IsC10d(static_cast<Operation>(record.operation)) && members_.IsUncertain(record.member);
}

uint16_t RingEvents::NumberOf(const ring::Record& record) const {
  return IsOfGroupOnDevice(record) ? OnDevice(record.operation) : record.operation;
}

bool RingEvents::IsCall(const Event& event) const {
  const Operation operation = context_.OperationOf(event);
  return operation != Operation::kCallError && operation != Operation::kThreadExit;
}

uint32_t RingEvents::FindThread(uint32_t entry) const {
  return FindOr(thread_by_entry_, entry, kNoIndex);
}

void RingEvents::ReadThread(const RingThread& from) {
  const auto thread_index = static_cast<uint32_t>(context_.process.threads.size());
  thread_by_entry_.emplace(from.entry, thread_index);
  Thread thread;
  thread.tid = from.state.tid;
  thread.name = CleanName(from.state.name);
  thread.main = (from.state.flags & 1) != 0;
  thread.ended = from.state.state == static_cast<uint32_t>(ring::ThreadState::kEnded);
  thread.polls = from.state.polls;
  // True if its last call was an unsuccessful Test or Iprobe. Other observers determine whether the
  // thread continues to poll.
  const ring::Polling& polling = from.state.polling;
  thread.polling = from.open.empty() && LastCallPolled(from.state);
  if (IsWhole(polling) && IsPoll(FindOperation(polling.operation).kind)) {
    thread.asks = Asks(polling);
  }
  thread.lost_collectives = from.calls[ring::kCollectiveRing].lost;
  thread.lost_p2p = from.calls[ring::kP2pRing].lost;
  thread.last_end_ns = context_.Time(from.state.last_end_ticks);
  thread.group.depth = static_cast<uint32_t>(from.state.nccl_group >> 32);
  if (thread.group.depth != 0) {
    thread.group.call_path = references_.CallPath(from.state.nccl_group_path);
  }
  context_.process.threads.push_back(std::move(thread));

  std::vector<RingCall> calls = CallsOf(from, thread_index);
  FindEnds(from, &calls);
  ReadOpenCalls(from, thread_index, &calls);
  NoteCarriers(&calls);
  FindRejected(&calls);
  ReserveEvents(calls);
  for (RingCall& call : calls) {
    call.event.end_ns = context_.Time(call.end_ticks);
    Distribute(call);
  }
}

Event RingEvents::Asks(const ring::Polling& polling) {
  RingRecord poll;
  poll.record.operation = polling.operation;
  poll.record.start_ticks = polling.since_ticks;
  poll.record.member = polling.member;
  poll.record.root_or_peer = polling.peer;
  poll.record.tag = polling.tag;
  poll.record.call_path = polling.call_path;
  poll.record.request = polling.request;
  return MakeCall(poll, ring::kP2pRing, static_cast<uint32_t>(context_.process.threads.size()))
      .event;
}

// Returns the calls of both rings in one order. Each ring is in order, so merging is enough.
std::vector<RingCall> RingEvents::CallsOf(const RingThread& from, uint32_t thread) {
  std::array<std::vector<RingCall>, ring::kRingKinds> rings;
  for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
    rings[kind].reserve(from.calls[kind].records.size());
    for (const RingRecord& record : from.calls[kind].records) {
      if (record.record.operation == static_cast<uint16_t>(Operation::kLeftover)) {
        AddLeftover(record, thread);
      } else {
        rings[kind].push_back(MakeCall(record, kind, thread));
      }
    }
    SortStably(&rings[kind], Earlier);
  }
  std::vector<RingCall> calls(rings[0].size() + rings[1].size());
  std::merge(rings[0].begin(), rings[0].end(), rings[1].begin(), rings[1].end(), calls.begin(),
             Earlier);
  return calls;
}

void RingEvents::AddLeftover(const RingRecord& from, uint32_t thread) {
  RingRecord made = from;
  made.record.operation = static_cast<uint16_t>(from.record.detail2);
  made.record.detail2 = 0;
  if (FindOperation(made.record.operation).kind == Kind::kNone) return;  // of a newer version
  context_.process.leftovers.push_back(MakeCall(made, ring::kCollectiveRing, thread).event);
}

// Events are most of a trace: the spare capacity of growing vectors would add half as much again.
void RingEvents::ReserveEvents(const std::vector<RingCall>& calls) {
  std::unordered_map<uint32_t, size_t> counts;
  uint32_t last = kNoIndex;
  size_t* count = nullptr;
  for (const RingCall& call : calls) {
    if (call.kind == ring::kP2pRing || call.event.sequence == 0) continue;
    if (call.rejected != ErrorClass::kNone || !IsCall(call.event)) continue;
    if (call.event.member == kNoIndex) continue;
    if (count == nullptr || call.event.member != last) {
      last = call.event.member;
      count = &counts[last];
    }
    ++*count;
  }
  for (const auto& [member, more] : counts) {
    std::vector<Event>& events = context_.trace.members[member].events;
    // Reserve exactly for the first thread; a thousand threads must not cause a thousand copies.
    const size_t wanted = events.size() + more;
    if (wanted > events.capacity()) events.reserve(std::max(wanted, 2 * events.capacity()));
  }
}

RingCall RingEvents::MakeCall(const RingRecord& from, uint32_t kind, uint32_t thread) {
  const ring::Record& record = from.record;
  const OperationInfo& info = FindOperation(NumberOf(record));
  RingCall call;
  call.ticks = record.start_ticks;
  call.index = from.index;
  call.kind = kind;
  call.uid = record.member;
  call.nested = (record.flags & ring::kNested) != 0;
  call.prev_end_ticks = record.prev_end_ticks;
  if ((record.flags & ring::kRejected) != 0) {
    call.failed = static_cast<Operation>(record.detail2);
  }
  Event& event = call.event;
  event.sequence = record.sequence;
  event.start_ns = context_.Time(record.start_ticks);
  event.request = record.request;
  event.detail = record.detail;
  if (IsEnqueued(info) && IsC10dOnDevice(info.operation)) {
    call.launch = record.start_ticks;
    call.stream = RingDevice::UnseenStream(record);
    if (record.sequence == 0) event.detail = record.request;
  } else if (IsEnqueued(info)) {
    call.launch = record.detail;
    call.stream = record.detail2;
    call.enqueued_by = record.member;
    call.captured = (record.flags & ring::kCaptured) != 0;
    event.detail = record.request;
  }
  event.arguments = references_.Arguments(from, NumberOf(record));
  event.call_path = references_.CallPath(record.call_path, record.context_path);
  event.member = members_.Find(record.member);
  event.thread = thread;
  return call;
}

// A call of a process group on devices has the launch and the stream of the NCCL calls that it
// makes. The NCCL calls are not calls of the user (split_devices.cc removes them).
void RingEvents::NoteCarriers(std::vector<RingCall>* calls) {
  RingCall* outer = nullptr;
  std::vector<uint32_t> collectives;  // of NCCL, inside `outer`
  const auto finish = [&] {
    if (outer == nullptr || collectives.size() != 1) return;
    outer->event.arguments = references_.Completed(outer->event.arguments, collectives.front());
  };
  for (RingCall& call : *calls) {
    const Operation operation = context_.OperationOf(call.event);
    if (!call.nested) {
      finish();
      collectives.clear();
      const bool carried = IsC10dOnDevice(operation) && call.launch != 0;
      outer = carried && !members_.IsUncertain(call.uid) ? &call : nullptr;
    }
    if (outer == nullptr || !call.nested || !IsNccl(operation)) continue;
    const uint64_t carrier = members_.NoteCarrier(call.uid);
    if (call.captured) {
      outer->launch = 0;  // complete, as far as this is known
      outer = nullptr;
    } else if (call.launch != 0) {
      if (call.event.sequence != 0) collectives.push_back(call.event.arguments);
      if (outer->event.sequence == 0) {
        outer->event.arguments = references_.OnCarrier(outer->event.arguments, carrier);
      }
      outer->launch = call.launch;
      outer->stream = call.stream;
      outer->enqueued_by = call.uid;
    }
  }
  finish();
}

// A record has the end of the thread's previous call. Calls made inside a call (kNested) end no
// later than that call.
void RingEvents::FindEnds(const RingThread& from, std::vector<RingCall>* calls) {
  // Between the last lost record of one ring and the first kept record, calls are missing, and the
  // previous call may be one of them.
  std::array<uint64_t, ring::kRingKinds> complete_from{};
  for (const RingCall& call : *calls) {
    if (complete_from[call.kind] == 0) complete_from[call.kind] = call.ticks;
  }
  uint64_t complete_ticks = 0;
  for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
    if (from.calls[kind].lost == 0) continue;
    complete_ticks =
        std::max(complete_ticks, complete_from[kind] == 0 ? ~uint64_t{0} : complete_from[kind]);
  }
  // An error record follows its call and repeats that call's words, including the previous end.
  std::vector<RingCall*> running;
  const auto end_all = [&](uint64_t ticks) {
    for (RingCall* call : running) {
      if (ticks >= call->ticks && call->ticks >= complete_ticks) call->end_ticks = ticks;
    }
    running.clear();
  };
  for (RingCall& call : *calls) {
    if (!IsCall(call.event)) continue;
    if (!call.nested) end_all(call.prev_end_ticks);
    running.push_back(&call);
  }
  end_all(from.state.last_end_ticks);
}

// An error record follows its call in the same ring and repeats that call's words. Calls between
// the two were made inside the call, by an error handler of the program.
void RingEvents::FindRejected(std::vector<RingCall>* calls) {
  constexpr size_t kMaxBetween = 64;
  for (size_t i = 0; i < calls->size(); ++i) {
    const RingCall& error = (*calls)[i];
    if (error.failed == Operation::kNone) continue;
    const ErrorClass found = FindErrorClass(context_.process.flavor, error.event.detail).error;
    for (size_t back = 1; back <= std::min(i, kMaxBetween); ++back) {
      RingCall& call = (*calls)[i - back];
      const bool same = call.kind == error.kind && call.uid == error.uid &&
                        call.event.sequence == error.event.sequence &&
                        call.event.call_path == error.event.call_path &&
                        context_.OperationOf(call.event) == error.failed;
      if (!same || call.rejected != ErrorClass::kNone) continue;
      call.rejected = found;
      break;
    }
  }
}

void RingEvents::ReadOpenCalls(const RingThread& from, uint32_t thread_index,
                               std::vector<RingCall>* calls) {
  std::vector<RingCall> added;
  for (size_t depth = 0; depth < from.open.size(); ++depth) {
    const ring::Record& record = from.open[depth];
    const bool uncertain = IsUncertain(from.open[0]);
    if (depth == 0 && uncertain && from.open.size() > 1) continue;
    if (depth > 0 && !uncertain && IsNccl(static_cast<Operation>(record.operation)) &&
        IsOfGroupOnDevice(from.open[0])) {
      members_.NoteCarrier(record.member);
      continue;
    }
    OpenCall open;
    open.depth = static_cast<uint32_t>(depth);
    const uint64_t index = record.lock / 2 - 1;
    // Search from the end: open calls are among the newest.
    const auto same = std::find_if(calls->rbegin(), calls->rend(), [&](const RingCall& call) {
      return call.index == index && call.ticks == record.start_ticks &&
             call.event.sequence == record.sequence && call.uid == record.member &&
             context_.OperationOf(call.event) == static_cast<Operation>(NumberOf(record));
    });
    if (same != calls->rend()) {
      same->end_ticks = 0;
      open.event = same->event;
    } else {
      RingRecord lost;
      lost.index = index;
      lost.record = record;
      if (record.continuations != 0) lost.record.flags |= ring::kCountsCut;
      const bool numbered = record.sequence != 0;
      RingCall call =
          MakeCall(lost, numbered ? ring::kCollectiveRing : ring::kP2pRing, thread_index);
      open.event = call.event;
      if (numbered) added.push_back(call);
    }
    AddAwaited(from, record, IsInnermost(from, depth), &open);
    device_.AddHostWait(record, thread_index);
    for (const uint64_t request : open.requests) {
      if (!on_device_.contains(request)) continue;
      device_.AddHostWait(request, thread_index);
      open.event.arguments = references_.Arguments({.record = record}, OnDevice(record.operation));
    }
    context_.process.open_calls.push_back(std::move(open));
  }
  calls->insert(calls->end(), added.begin(), added.end());
}

// In a barrier of NCCL's backend, Work.wait itself waits for the device.
bool RingEvents::IsInnermost(const RingThread& from, size_t depth) {
  const auto waits_for_device = [](const ring::Record& inner) {
    return FindOperation(inner.operation).kind == Kind::kHostWait;
  };
  const auto inner = from.open.begin() + static_cast<ptrdiff_t>(depth) + 1;
  return inner == from.open.end() || (IsC10d(static_cast<Operation>(from.open[depth].operation)) &&
                                      std::all_of(inner, from.open.end(), waits_for_device));
}

void RingEvents::AddAwaited(const RingThread& from, const ring::Record& record, bool innermost,
                            OpenCall* open) {
  const Rule rule = FindOperation(record.operation).rule;
  if (!innermost || (rule != Rule::kWait && rule != Rule::kTest)) return;
  if (const auto it = awaited_.find(from.entry + 1); it != awaited_.end()) {
    open->requests = it->second;
  }
  if (open->requests.empty() && record.request != 0) open->requests.push_back(record.request);
}

void RingEvents::Distribute(const RingCall& call) {
  if (call.rejected != ErrorClass::kNone) {
    context_.process.rejected.push_back({.event = call.event, .error = call.rejected});
    lifecycle_.push_back(call);
    return;
  }
  if (call.captured) {
    lifecycle_.push_back(call);
    return;
  }
  const bool enqueued = call.launch != 0;
  if (enqueued && call.event.member != kNoIndex) device_.AddCall(call);
  if (FindOperation(static_cast<uint16_t>(context_.OperationOf(call.event))).kind ==
      Kind::kNcclInit) {
    members_.NoteCreation(call.uid, call.event);
  }
  if (!IsCall(call.event) || (enqueued && call.event.member == kNoIndex)) {
    lifecycle_.push_back(call);
  } else if (call.kind == ring::kP2pRing) {
    p2p_.push_back(call);
  } else if (call.event.sequence != 0 && call.event.member != kNoIndex) {
    context_.trace.members[call.event.member].events.push_back(call.event);
  } else {
    lifecycle_.push_back(call);
  }
}

void RingEvents::Finish() {
  const auto finish = [](std::vector<RingCall>* calls, std::vector<Event>* events) {
    SortStably(calls, Earlier);
    events->reserve(calls->size());
    for (const RingCall& call : *calls) events->push_back(call.event);
  };
  finish(&p2p_, &context_.process.p2p);
  finish(&lifecycle_, &context_.process.lifecycle);
  for (Member& member : members_.all()) {
    std::vector<Event>& events = member.events;
    SortStably(&events, [](const Event& a, const Event& b) { return a.sequence < b.sequence; });
    const auto same = [](const Event& a, const Event& b) { return a.sequence == b.sequence; };
    const auto end = std::unique(events.begin(), events.end(), same);
    context_.process.records_unreadable += static_cast<uint64_t>(events.end() - end);
    events.erase(end, events.end());
    events.shrink_to_fit();
  }
}

}  // namespace rollcall
