// SPDX-License-Identifier: Apache-2.0
// Wait, Test, Start and their variants; Iprobe and other polls.
//
// Another thread may get a request's handle as soon as the library has freed it. With
// MPI_THREAD_MULTIPLE, an entry is therefore detached before the handle is passed to the library,
// and attached again if the request is still pending. With one thread, the handles are only copied
// before the call. They are looked up when a request is complete, so that an unsuccessful poll
// stays cheap.
#include <atomic>
#include <cstring>

#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/data/call_data.h"

namespace rollcall::shim::calls {
namespace {

bool IsOne(Kind kind) { return kind == Kind::kWait || kind == Kind::kTest; }
bool Starts(Kind kind) { return kind == Kind::kStart || kind == Kind::kStartall; }
// The call may free the request.
bool Consumes(Kind kind) {
  return IsWait(kind) || kind == Kind::kRequestFree || (IsPoll(kind) && TakesMany(kind)) ||
         kind == Kind::kTest;
}

// Stores the requests' handles, because the library overwrites the array. Also stores their slots,
// in the order of the array, unless the slots can be looked up after the call.
void Gather(Call* call, const Arguments& a) {
  Library* library = call->library;
  const auto count = static_cast<uint32_t>(a.request_count < 0 ? 0 : a.request_count);
  call->slots = TakeScratch(call->log, 3 * count + 2);
  if (call->slots == nullptr) return;
  call->handles = reinterpret_cast<uint64_t*>(
      (reinterpret_cast<uintptr_t>(call->slots + count) + 7) & ~uintptr_t{7});
  call->slot_count = count;
  const bool detach = g_process.multiple_threads && Consumes(call->info->kind);
  const bool later = IsPoll(call->info->kind) && !detach;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t handle = library->At(a.requests, i);
    call->handles[i] = handle;
    if (!later) {
      call->slots[i] = detach ? DetachRequest(*library, handle) : FindRequest(*library, handle);
    }
  }
}

void FindRequestsDeferred(Call* call) {
  for (uint32_t i = 0; i < call->slot_count; ++i) {
    call->slots[i] = FindRequest(*call->library, call->handles[i]);
  }
}

uint64_t UidOf(uint32_t slot) { return slot == kNoRequest ? 0 : RequestAt(slot).uid; }

// Updates one request after the call. `completion` is nullptr if it is still pending.
void UpdateRequest(const Library& library, uint32_t slot, uint64_t handle_before,
                   const Completion* completion) {
  SetWaiter(slot, 0);
  if (completion == nullptr) {
    if (g_process.multiple_threads) AttachRequest(library, handle_before, slot);
    return;
  }
  const bool persistent = IsPersistent(slot);
  if (!g_process.multiple_threads && !persistent) DetachRequest(library, handle_before);
  CompleteRequest(slot, *completion);
  if (persistent && g_process.multiple_threads) AttachRequest(library, handle_before, slot);
}

// The status of request i; nullptr if the program ignores it. `order` is the request's position
// among the completed ones of Waitsome and Testsome.
const void* StatusAt(const Call& call, const Arguments& a, uint32_t i, uint32_t order) {
  const Kind kind = call.info->kind;
  if (TakesAny(kind)) return StatusOf(call, a);
  if (a.statuses == nullptr || call.library->IgnoresStatus(a.statuses)) return nullptr;
  return static_cast<const char*>(a.statuses) +
         call.library->abi.status_bytes * (TakesSome(kind) ? order : i);
}

void UpdateRequests(Call* call, const Arguments& a, int result) {
  Library* library = call->library;
  const Kind kind = call->info->kind;
  const bool flag = a.flag == nullptr || *a.flag != 0;
  const int done = TakesSome(kind) && a.out_count != nullptr ? *a.out_count : 0;
  for (uint32_t i = 0; i < call->slot_count; ++i) {
    const uint32_t slot = call->slots[i];
    if (slot == kNoRequest) continue;
    bool complete = library->At(a.requests, i) == library->abi.request_null;
    uint32_t order = 0;
    if (TakesSome(kind)) {
      for (int j = 0; j < done; ++j) {
        if (a.indices[j] != static_cast<int>(i)) continue;
        complete = true;
        order = static_cast<uint32_t>(j);
        break;
      }
    } else if (!complete && result == 0 && IsPersistent(slot)) {
      // A persistent handle does not change: only the results show completion.
      complete =
          TakesAny(kind) ? flag && a.index != nullptr && *a.index == static_cast<int>(i) : flag;
    }
    const Completion completion{.status = complete ? StatusAt(*call, a, i, order) : nullptr,
                                .failed = result != 0};
    UpdateRequest(*library, slot, call->handles[i], complete ? &completion : nullptr);
  }
}

// True if the shim must pass a status of its own to learn the sender. False for Waitall and the
// other calls with many statuses: if these get an array of statuses, the library reports errors in
// another way (MPI_ERR_IN_STATUS).
bool WantsStatus(const Call& call) {
  if (IsOne(call.info->kind)) return call.slot != kNoRequest && NeedsStatus(call.slot);
  if (call.info->kind == Kind::kTestany && !g_process.multiple_threads)
    return true;  // the slots are looked up after the call
  if (!TakesAny(call.info->kind)) return false;
  for (uint32_t i = 0; i < call.slot_count; ++i) {
    if (call.slots[i] != kNoRequest && NeedsStatus(call.slots[i])) return true;
  }
  return false;
}

// Counts a start for each request. In a Startall, each start of a persistent collective gets a
// separate record in the ring of collectives.
void StartAll(Call* call) {
  ring::Record& record = call->record;
  if (call->slot != kNoRequest) {
    record.detail = StartRequest(call->slot, record);
    if (const Comm* comm = CommOfRequest(call->slot)) record.member = comm->uid;
    return;
  }
  for (uint32_t i = 0; i < call->slot_count; ++i) {
    if (call->slots[i] == kNoRequest) continue;
    const uint64_t detail = StartRequest(call->slots[i], record);
    const Comm* comm = CommOfRequest(call->slots[i]);
    if (detail == 0 || comm == nullptr) continue;
    ring::Record one = record;
    one.member = comm->uid;
    one.detail = detail;
    one.request = UidOf(call->slots[i]);
    call->log->rings[ring::kCollectiveRing].Append(one);
  }
}

// One of this many polls is timed; its time is extrapolated to all of them.
constexpr uint64_t kTimedPolls = 64;

void BeginTimedPoll(Call* call) {
  const bool timed = LoadRelaxed(&call->log->entry->polls) % kTimedPolls == 0;
  call->poll_begin_ticks = __builtin_expect(timed, 0) ? Ticks() : 0;
}

ROLLCALL_COLD void EndTimedPoll(Call* call) {
  constexpr uint64_t kWindowTicks = uint64_t{1} << 30;  // some tenths of a second
  ThreadLog* log = call->log;
  const uint64_t now = Ticks();
  log->poll_inside_ticks += (now - call->poll_begin_ticks) * kTimedPolls;
  const uint64_t elapsed = now - log->poll_window_ticks;
  if (elapsed < kWindowTicks) return;
  const double share = static_cast<double>(log->poll_inside_ticks) / static_cast<double>(elapsed);
  StoreRelaxed(&log->entry->polling.inside, ring::EncodeShare(share));
  log->poll_window_ticks = now;
  log->poll_inside_ticks = 0;
}

void NotePolling(Call* call, const Arguments& a) {
  if (__builtin_expect(call->poll_begin_ticks != 0, 0)) EndTimedPoll(call);
  const Abi& abi = call->library->abi;
  const bool probe = call->info->kind == Kind::kIprobe;
  FailedPoll poll;
  if (call->slot != kNoRequest) {
    poll.request = UidOf(call->slot);
  } else if (call->slot_count > 0) {
    const bool late = !g_process.multiple_threads;
    poll.request = UidOf(late ? FindRequest(*call->library, call->handles[0]) : call->slots[0]);
  }
  if (call->comm != nullptr) poll.member = call->comm->uid;
  if (probe) poll.peer = Peer(abi, a.root_or_peer);
  if (probe) poll.tag = Tag(abi, a.tag);
  poll.requests = call->slot != kNoRequest ? 1u : call->slot_count;
  NotePoll(call, poll);
}

// Records a successful poll.
void RecordSuccess(Call* call, const Arguments& a, uint64_t request) {
  const Abi& abi = call->library->abi;
  StartRecord(call);
  ring::Record& record = call->record;
  if (call->info->kind == Kind::kIprobe) {
    record.root_or_peer = Peer(abi, a.root_or_peer);
    record.tag = Tag(abi, a.tag);
  }
  record.request = request;
  record.detail = call->slot_count;
  SetCallPath(&record, CurrentCallPath(call->frame));
  AppendFinished(call, ring::kP2pRing);
  StoreRelaxed(&call->log->entry->polling.since_ticks,
               uint64_t{0});  // the next unsuccessful poll starts a new wait
}

// Stores the message of a matched probe, for the receive of the message.
void KeepMessage(Call* call, const Arguments& a) {
  if (call->info->kind != Kind::kIprobe || a.message == nullptr) return;
  const Library& library = *call->library;
  MatchedMessage message{call->comm, Peer(library.abi, a.root_or_peer), Tag(library.abi, a.tag)};
  if (const void* status = StatusOf(*call, a)) {
    message.peer = Peer(library.abi, library.StatusSource(status));
    message.tag = library.StatusTag(status);
  }
  StoreMessage(library, library.Load(a.message), message);
}

void BeginPoll(Call* call, Arguments* a) {
  const Kind kind = call->info->kind;
  Library* library = call->library;
  BeginTimedPoll(call);
  switch (kind) {
    case Kind::kIprobe:
      call->comm = FindComm(*library, a->comm);
      if (a->message != nullptr) WantStatus(call, a);
      return;
    case Kind::kWindowTest:
      call->comm = FindComm(*library, a->window);
      return;
    case Kind::kRequestGetStatus:
      call->slot = FindRequest(*library, library->Handle(a->request_in));
      return;
    default:
      return;
  }
}

void EndPoll(Call* call, const Arguments& a, int result) {
  const Kind kind = call->info->kind;
  const bool flag = a.flag == nullptr || *a.flag != 0;
  const int done = TakesSome(kind) && a.out_count != nullptr ? *a.out_count : 0;
  const bool progressed = result == 0 && (TakesSome(kind) ? done != 0 : flag);
  // Even after an error, some requests may be complete.
  const bool settle = progressed || result != 0 || g_process.multiple_threads;
  uint64_t request = UidOf(call->slot);
  bool known = call->slot != kNoRequest || kind == Kind::kIprobe || kind == Kind::kWindowTest;
  if (!progressed && result == 0) NotePolling(call, a);
  if (settle && call->slot_count > 0) {
    if (!g_process.multiple_threads) FindRequestsDeferred(call);
    for (uint32_t i = 0; i < call->slot_count && !known; ++i) {
      known = call->slots[i] != kNoRequest;
      request = UidOf(call->slots[i]);
    }
    UpdateRequests(call, a, result);
  }
  if (kind == Kind::kTest && call->slot != kNoRequest && settle) {
    const bool gone = call->library->Load(a.request) == call->library->abi.request_null;
    const Completion completion{.status = StatusOf(*call, a), .failed = result != 0};
    UpdateRequest(*call->library, call->slot, call->handle,
                  gone || progressed ? &completion : nullptr);
  }
  if (progressed) {
    if (kind == Kind::kRequestGetStatus && call->slot != kNoRequest &&
        call->info->operation != Operation::kParrived) {
      MarkRequestDone(call->slot);
      // From now on the program may use the buffer.
      if (__builtin_expect(g_process.data, 0)) data::CompleteRequest(call->slot, false);
    }
    KeepMessage(call, a);
    if (known) RecordSuccess(call, a, request);
  }
}

// Returns the number of partitions that a Pready call marks.
uint32_t PartitionsOf(Operation operation, const Arguments& a) {
  const int64_t count = operation == Operation::kPready_list
                            ? int64_t{a.request_count}
                            : int64_t{a.key} - int64_t{a.color} + 1;
  return count < 0 ? 0 : static_cast<uint32_t>(count);
}

}  // namespace

static void Before(Group<CallGroup::kRequests>, Call* call, Arguments* arguments) {
  const Arguments& a = *arguments;
  Library* library = call->library;
  const Kind kind = call->info->kind;
  call->slots = nullptr;
  call->slot_count = 0;
  if (TakesMany(kind)) {
    Gather(call, a);
  } else if (kind == Kind::kPready) {
    call->slot = FindRequest(*library, library->Handle(a.request_in));
  } else if (a.request != nullptr) {
    call->handle = library->Load(a.request);
    const bool detach = g_process.multiple_threads && Consumes(kind);
    call->slot =
        detach ? DetachRequest(*library, call->handle) : FindRequest(*library, call->handle);
  }
  if (WantsStatus(*call)) WantStatus(call, arguments);
  if (IsPoll(kind)) return BeginPoll(call, arguments);  // a poll is recorded only if it succeeds
  if (kind == Kind::kRequestFree) return;
  if (kind == Kind::kCancel && call->slot != kNoRequest) MarkRequestCancelled(call->slot);

  StartRecord(call);
  ring::Record& record = call->record;
  SetCallPath(&record, CurrentCallPath(call->frame));
  record.request = UidOf(call->slot);
  record.detail = call->slot_count;
  if (kind == Kind::kPready) {
    record.detail =
        static_cast<uint64_t>(static_cast<uint32_t>(a.color)) << 32 | static_cast<uint32_t>(a.key);
    // Before the call: when it returns, the request may be complete.
    if (call->slot != kNoRequest)
      MarkPartitions(call->slot, PartitionsOf(call->info->operation, a));
  }
  if (IsWait(kind)) {
    const uint32_t waiter = call->log->index + 1;
    if (call->slot != kNoRequest) SetWaiter(call->slot, waiter);
    for (uint32_t i = 0; i < call->slot_count; ++i) {
      if (call->slots[i] == kNoRequest) continue;
      SetWaiter(call->slots[i], waiter);
      if (record.request == 0) record.request = UidOf(call->slots[i]);
    }
  }
  if (Starts(kind)) StartAll(call);
  const bool collective = kind == Kind::kStart && record.detail != 0;
  WriteRecord(call, collective ? ring::kCollectiveRing : ring::kP2pRing);
}

static void After(Group<CallGroup::kRequests>, Call* call, const Arguments& a, int result) {
  Library* library = call->library;
  const Kind kind = call->info->kind;
  if (IsPoll(kind)) {
    EndPoll(call, a, result);
  } else if (kind == Kind::kWait && call->slot != kNoRequest) {
    // After an error, the handle shows whether the request was freed.
    const bool gone = library->Load(a.request) == library->abi.request_null;
    const Completion completion{.status = StatusOf(*call, a), .failed = result != 0};
    UpdateRequest(*library, call->slot, call->handle, gone || result == 0 ? &completion : nullptr);
  } else if (IsWait(kind)) {
    UpdateRequests(call, a, result);
  } else if (kind == Kind::kRequestFree && call->slot != kNoRequest) {
    if (result == 0) {
      if (!g_process.multiple_threads) DetachRequest(*library, call->handle);
      DropRequest(call->slot);
    } else if (g_process.multiple_threads) {
      AttachRequest(*library, call->handle, call->slot);
    }
  }
  if (call->slots != nullptr) {
    call->log->scratch_used = static_cast<uint32_t>(call->slots - call->log->scratch);
  }
}

void NotePoll(Call* call, const FailedPoll& poll) {
  ThreadLog* log = call->log;
  ring::Polling* polling = &log->entry->polling;
  const auto operation = static_cast<uint16_t>(call->info->operation);
  Bump(&log->entry->polls);
  if (polling->operation == operation && polling->member == poll.member &&
      polling->peer == poll.peer && polling->tag == poll.tag && polling->request == poll.request &&
      polling->since_ticks > log->last_end_ticks) {
    return;
  }
  const uint32_t path = CurrentCallPath(call->frame).id;
  ChangeUnderLock(&polling->lock, [&] {
    StoreRelaxed(&polling->since_ticks, Ticks());
    StoreRelaxed(&polling->since_polls, log->entry->polls);
    StoreRelaxed(&polling->operation, operation);
    StoreRelaxed(&polling->member, poll.member);
    StoreRelaxed(&polling->peer, poll.peer);
    StoreRelaxed(&polling->tag, poll.tag);
    StoreRelaxed(&polling->request, poll.request);
    StoreRelaxed(&polling->call_path, path);
    StoreRelaxed(&polling->requests, poll.requests);
  });
}

}  // namespace rollcall::shim::calls

template void rollcall::shim::Begin<rollcall::CallGroup::kRequests>(Call*, Arguments*);
template void rollcall::shim::End<rollcall::CallGroup::kRequests>(Call*, const Arguments&, int);
