// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/call.h"

#include <cstdio>
#include <cstdlib>

#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/nccl/driver.h"
#include "shim/nccl/group.h"
#include "shim/nccl/marks.h"
#include "shim/nccl/operations.h"
#include "shim/nccl/progress.h"
#include "shim/nccl/start.h"
#include "shim/nccl/unfinished.h"

namespace rollcall::shim::nccl {
namespace {

constexpr int kSuccess = 0;
constexpr int kInProgress = 7;  // ncclInProgress: a non-blocking communicator is still working

bool Failed(int result) { return result != kSuccess && result != kInProgress; }

// Returns a local query function of the NCCL that `caller` uses.
template <typename F>
F Query(Target* target, const void* caller) {
  return reinterpret_cast<F>(target->Get(caller));
}
using IntQuery = int (*)(void*, int*);
constinit Target g_count{"pncclCommCount", nullptr};
constinit Target g_user_rank{"pncclCommUserRank", nullptr};
constinit Target g_device{"pncclCommCuDevice", nullptr};
constinit Target g_version{"pncclGetVersion", nullptr};

// The handle that the library wrote; 0 if it has not written one (yet).
uint64_t LoadHandle(const void* place) {
  return place == nullptr ? 0 : LoadAcquire(static_cast<const uint64_t*>(place));
}

// Queries the communicator's size and this member's rank; false if the library does not provide
// them.
bool QueryRank(uint64_t handle, const void* caller, int32_t* rank, int32_t* size) {
  const auto count = Query<IntQuery>(&g_count, caller);
  const auto user_rank = Query<IntQuery>(&g_user_rank, caller);
  void* comm = reinterpret_cast<void*>(handle);
  return count != nullptr && user_rank != nullptr && count(comm, size) == kSuccess &&
         user_rank(comm, rank) == kSuccess;
}

// Returns the communicator's CUDA device; -1 if the library does not provide it.
int QueryDevice(uint64_t handle, const void* caller) {
  int device = -1;
  const auto ask = Query<IntQuery>(&g_device, caller);
  if (ask == nullptr || ask(reinterpret_cast<void*>(handle), &device) != kSuccess) return -1;
  return device;
}

void NameLibrary(const void* caller) {
  ring::FileHeader* header = g_process.header;
  if (header->library[0] != '\0') return;
  int version = 0;
  const auto ask = Query<int (*)(int*)>(&g_version, caller);
  if (ask == nullptr || ask(&version) != kSuccess) return;
  // 2.8 and older: 2804; since 2.9: 20905.
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
  snprintf(header->library, sizeof(header->library), "NCCL %d.%d.%d", major, minor, version % 100);
}

// --- Communicators -------------------------------------------------------------------------------

// The communicator exists from now on: its members may use it.
void FinishCreation(Comm* comm, uint64_t handle, const void* caller) {
  StoreRelease(&comm->entry->in_flight, uint64_t{0});
  if (handle != 0) {
    if (comm->handle != handle) BindHandle(comm, handle);
    SetNcclDevice(comm, QueryDevice(handle, caller));
  }
  SetPhase(ring::Phase::kRunning);
  PrepareDevice();
}

void SettleSplit(const Pending& pending, uint64_t handle) {
  int32_t rank = -1, size = 0;
  if (handle == 0) return;  // NCCL_SPLIT_NOCOLOR
  QueryRank(handle, pending.caller, &rank, &size);
  const Comm* parent = pending.creation.parent;
  const uint64_t key =
      Mix64(Mix64(parent != nullptr ? parent->key : 0, pending.creation.parent_sequence),
            static_cast<uint32_t>(pending.colour));
  Comm* comm = RegisterWithKey(NcclLibrary(), pending.creation, {key, rank, size});
  if (comm != nullptr) FinishCreation(comm, handle, pending.caller);
}

void FinishCreationAs(const Pending& pending, uint64_t handle, bool failed) {
  if (pending.comm == nullptr) {
    if (!failed) SettleSplit(pending, handle);
  } else if (failed) {
    UnregisterComm(pending.comm);
  } else {
    FinishCreation(pending.comm, handle, pending.caller);
  }
}

// NCCL has written the handle, but the communicator exists only when NCCL reports that to the
// application.
void DeferCreation(const Pending& pending) {
  const uint64_t handle = LoadHandle(pending.handle_at);
  if (handle == 0) return FinishCreationAs(pending, handle, false);  // NCCL_SPLIT_NOCOLOR
  if (pending.comm != nullptr) {
    pending.comm->asynchronous = true;
    BindHandle(pending.comm, handle);
  }
  if (!AwaitCreation(pending, handle)) FinishCreationAs(pending, handle, false);
}

void FinishCreation(const Pending& pending, int result) {
  if (result == kInProgress) return DeferCreation(pending);
  FinishCreationAs(pending, result == kSuccess ? LoadHandle(pending.handle_at) : 0,
                   result != kSuccess);
}

void FinishCreationOrWait(Call* call, const Pending& pending, int result) {
  Group& group = Group::Of(call->log);
  if (!Failed(result) && group.open()) {
    group.AddPending(pending);
  } else {
    FinishCreation(pending, result);
  }
}

// The identity of the communicator that a call creates, from the call's arguments.
struct Identified {
  Creation creation;
  KnownIdentity identity;
};

Identified ById(const Call& call, const Arguments& a) {
  return {{.operation = call.info->operation}, {Mix64(a.id_hash, 0x11), a.rank, a.nranks}};
}

bool IsIn(int32_t rank, const int* list, int count) {
  for (int i = 0; i < count; ++i) {
    if (list[i] == rank) return true;
  }
  return false;
}

// The members are the parent's members without the excluded ones, in the same order. Excluded ranks
// make no call, so the parent's counter must not count the call.
Identified Shrunk(const Call& call, const Comm* parent, const Arguments& a) {
  constexpr int32_t kMaxRanks = 1 << 16;
  Identified made{{.operation = call.info->operation, .parent = parent}, {}};
  const bool listed = a.excluded != nullptr && a.excluded_count >= 0;
  if (parent == nullptr || parent->size <= 0 || parent->size > kMaxRanks || !listed) return made;
  int* kept = static_cast<int*>(malloc(sizeof(int) * static_cast<size_t>(parent->size)));
  if (kept == nullptr) return made;
  KnownIdentity& identity = made.identity;
  for (int32_t rank = 0; rank < parent->size; ++rank) {
    if (IsIn(rank, a.excluded, a.excluded_count)) continue;
    if (rank == parent->rank) identity.rank = identity.size;
    kept[identity.size++] = rank;
  }
  const uint64_t members = HashBytes(kept, sizeof(int) * static_cast<size_t>(identity.size), 0x5c);
  identity.key = NthKey(Mix64(parent->key, members), parent->rank);
  identity.parent_ranks = InternRanks(kept, identity.size);
  free(kept);
  return made;
}

// Members of the parent know the parent, and joining ranks know the unique id. The rank that
// created the id knows both: its parent_sequence is the key that the joining ranks use.
Identified Grown(const Call& call, const Comm* parent, const Arguments& a) {
  const uint64_t joined = a.unique_id_at == nullptr
                              ? 0
                              : Mix64(HashBytes(a.unique_id_at, sizeof(UniqueId), 0x1d), 0x67);
  if (parent == nullptr) {
    return {{.operation = call.info->operation}, {joined, a.rank, a.nranks}};
  }
  const uint64_t key = NthKey(Mix64(parent->key, 0x67), parent->rank);
  return {{.operation = call.info->operation, .parent = parent, .parent_sequence = joined},
          {key, parent->rank, a.nranks}};
}

Identified Identify(const Call& call, const Arguments& a) {
  const Comm* parent = a.comm == 0 ? nullptr : FindByHandle(a.comm);
  switch (call.info->operation) {
    case Operation::kNcclCommShrink:
      return Shrunk(call, parent, a);
    case Operation::kNcclCommGrow:
      return Grown(call, parent, a);
    default:
      return ById(call, a);
  }
}

void BeginInit(Call* call, const Arguments& a) {
  const Identified made = Identify(*call, a);
  if (made.identity.size > 0) SetUnknownWorld(made.identity);
  SetClock();
  if (made.identity.key != 0) {
    call->comm = RegisterWithKey(NcclLibrary(), made.creation, made.identity);
  }
  if (call->comm != nullptr) StoreRelaxed(&call->comm->entry->in_flight, uint64_t{1});
  calls::StartRecord(call);
  call->record.root_or_peer = made.identity.rank;
  call->record.send_count = static_cast<uint64_t>(made.identity.size);
  SetCallPath(&call->record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kCollectiveRing);
}

// All members are devices of this process; no other process takes part.
void EndInitAll(const Arguments& a, const void* caller) {
  const auto* handles = static_cast<const uint64_t*>(a.new_comms);
  const uint64_t key = Mix64(g_process.header->process_id_random[0], NextLaunch());
  for (int i = 0; handles != nullptr && i < a.device_count; ++i) {
    const Creation creation{.operation = Operation::kNcclCommInitAll};
    Comm* comm = RegisterWithKey(NcclLibrary(), creation, {key, i, a.device_count});
    if (comm != nullptr) FinishCreation(comm, handles[i], caller);
  }
}

// --- Operations ----------------------------------------------------------------------------------

bool GoesToGraph(Group* group, uint64_t stream) {
  if (!g_process.gpu) return false;
  return group->open() ? group->IsCaptured(stream) : IsCaptured(stream);
}

void BeginOperation(Call* call, const Arguments& a) {
  Comm* comm = FindByHandle(a.comm);
  Group& group = Group::Of(call->log);
  RecordOperation(call, a,
                  {.comm = comm,
                   .captured = comm != nullptr && GoesToGraph(&group, a.stream),
                   .launch = group.open() ? group.launch() : 0});
}

void EndOperation(Call* call, const Arguments& a, int result) {
  Comm* comm = call->comm;
  if (comm == nullptr || Failed(result)) return;
  if ((call->record.flags & ring::kCaptured) != 0) return;  // the operation is on no stream
  const uint32_t slot = SlotOf(comm, a.stream);
  Group& group = Group::Of(call->log);
  if (result == kInProgress) comm->asynchronous = true;
  if (group.open()) {
    group.AddOperation(call->log, slot);
    if (comm->asynchronous) group.AddAsynchronous(comm->uid);
  } else {
    if (result == kInProgress) AwaitLaunch(comm->uid, call->record.detail);
    Launched(slot, call->record.detail);
  }
}

void BeginSplit(Call* call, const Arguments& a) {
  Comm* comm = call->comm = FindByHandle(a.comm);
  calls::StartRecord(call);
  ring::Record& record = call->record;
  record.detail =
      static_cast<uint64_t>(static_cast<uint32_t>(a.color)) << 32 | static_cast<uint32_t>(a.key);
  record.semantic_hash = Mix64(static_cast<uint64_t>(call->info->operation), 0);
  const InternedPath path = CurrentCallPath(call->frame);
  SetCallPath(&record, path);
  if (comm != nullptr) {
    record.sequence = NextSequence(comm);
    Checkpoint(comm, record.sequence, record.semantic_hash, path.portable_hash);
  } else {
    record.flags |= ring::kUnknownComm;
  }
  calls::WriteRecord(call, ring::kCollectiveRing);
}

void BeginOther(Call* call, const Arguments& a) {
  call->comm = a.comm == 0 ? nullptr : FindByHandle(a.comm);
  const Operation operation = call->info->operation;
  if (call->comm != nullptr &&
      (operation == Operation::kNcclCommAbort || operation == Operation::kNcclCommRevoke)) {
    ClearMarks(call->comm->uid);
  }
  calls::StartRecord(call);
  SetCallPath(&call->record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kCollectiveRing);
}

// --- Groups --------------------------------------------------------------------------------------

// Inner group ends cannot block and are not recorded.
void BeginGroupEnd(Call* call) {
  if (Group::Of(call->log).outermost()) BeginOther(call, {});
}

void EndGroup(Call* call, int result) {
  Group& group = Group::Of(call->log);
  // Must precede group.End(), which marks the operations as launched.
  for (uint32_t i = 0; result == kInProgress && i < group.asynchronous_count(); ++i) {
    AwaitLaunch(group.asynchronous(i), group.launch());
  }
  // A simulated end launches nothing. It is unknown what a failed end has launched.
  const bool simulated = call->info->operation == Operation::kNcclGroupSimulateEnd;
  const bool launched = result == kSuccess && !simulated;
  if (!group.End(call->log, !simulated)) return;
  // The operations of a simulated group have numbers already, although other ranks need not
  // simulate the group. The numbers of these members then prove nothing.
  for (uint32_t i = 0; simulated && i < group.slot_count(); ++i) {
    if (group.slot(i) != kNoSlot) MarkUncounted(ProgressOf(group.slot(i)).member);
  }
  for (uint32_t i = 0; launched && i < group.slot_count(); ++i) {
    Launched(group.slot(i), group.launch());
  }
  for (uint32_t i = 0; i < group.pending_count(); ++i) FinishCreation(group.pending(i), result);
  group.ClearPending();
}

// --- Queries about non-blocking communicators ----------------------------------------------------

// If the answer is ncclInProgress, the thread is polling, which counts as waiting.
void EndQuestion(Call* call, const Arguments& a, int result) {
  if (result != kSuccess || a.state == nullptr) return;
  if (*a.state == kInProgress) {
    const Comm* comm = FindByHandle(a.comm);
    calls::NotePoll(call, {.member = comm == nullptr ? 0 : comm->uid});
    return;
  }
  OnSettled(a.comm, Failed(*a.state), FinishCreationAs);
}

// --- Operations that were stopped ----------------------------------------------------------------

constexpr int kShrinkAbort = 1;  // NCCL_SHRINK_ABORT: stops the parent's operations first

bool Stops(const Call& call, const Arguments& a) {
  const Operation operation = call.info->operation;
  return operation == Operation::kNcclCommAbort || operation == Operation::kNcclCommRevoke ||
         (operation == Operation::kNcclCommShrink && (a.flags & kShrinkAbort) != 0);
}

// Records that the operations up to now were stopped: they are incomplete, and no rank waits for
// them.
void NoteStopped(const Comm* comm) {
  if (comm != nullptr) StoreRelease(&comm->entry->stopped_launch, LastLaunch());
}

// --- The host waits ------------------------------------------------------------------------------

bool WaitsForStream(Operation operation) {
  return operation == Operation::kcudaStreamSynchronize ||
         operation == Operation::kcuStreamSynchronize || operation == Operation::kcudaStreamQuery ||
         operation == Operation::kcuStreamQuery;
}
bool WaitsForEvent(Operation operation) {
  return operation == Operation::kcudaEventSynchronize ||
         operation == Operation::kcuEventSynchronize || operation == Operation::kcudaEventQuery ||
         operation == Operation::kcuEventQuery;
}

// Stores the launch and the stream that the call waits for in call->record, even if the record is
// not written: EndHostCall needs them.
void BeginHostCall(Call* call, const Arguments& a) {
  ring::Record& record = call->record;
  // Operations in an open group of this thread are on no stream yet.
  const Group& group = Group::Of(call->log);
  EventMark mark{a.stream, KnownLaunched(group.open() ? group.launch() - 1 : LastLaunch())};
  if (call->info->kind == Kind::kHostRecordsEvent) return StoreEvent(a.event, mark);
  if (WaitsForEvent(call->info->operation)) mark = FindEvent(a.event);
  if (call->info->kind == Kind::kHostQuery || !AnythingOutstanding()) {
    record.detail = mark.launch;
    record.detail2 = mark.stream;
    return;
  }
  calls::StartRecord(call);
  record.detail = mark.launch;
  record.detail2 = mark.stream;
  SetCallPath(&record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kCollectiveRing);
}

void EndHostCall(const Call& call, int result) {
  if (result != kSuccess || call.info->kind == Kind::kHostRecordsEvent || call.record.detail == 0)
    return;
  const Operation operation = call.info->operation;
  if (WaitsForStream(operation) || WaitsForEvent(operation)) {
    if (ring::IsDefaultStream(call.record.detail2) && HasSeveralDevices()) return;
    MarkStreamComplete(call.record.detail2, call.record.detail);
  } else if (!HasSeveralDevices()) {
    MarkAllComplete(call.record.detail);
  }
}

void BeginByKind(Call* call, const Arguments& a) {
  switch (call->info->kind) {
    case Kind::kNcclInit:
      return BeginInit(call, a);
    case Kind::kCreateComm:
      return BeginSplit(call, a);
    case Kind::kNonblocking:
    case Kind::kIsend:
    case Kind::kIrecv:
      return BeginOperation(call, a);
    case Kind::kNcclGroupStart:
    case Kind::kNcclQuery:
      return;
    case Kind::kNcclGroupEnd:
      return BeginGroupEnd(call);
    case Kind::kHostWait:
    case Kind::kHostQuery:
    case Kind::kHostRecordsEvent:
      return BeginHostCall(call, a);
    default:
      return BeginOther(call, a);
  }
}

void EndByKind(Call* call, const Arguments& a, int result) {
  if (!Failed(result) && Stops(*call, a)) NoteStopped(FindByHandle(a.comm));
  switch (call->info->kind) {
    case Kind::kNcclInit:
      NameLibrary(call->caller);
      if (call->comm == nullptr) return;
      return FinishCreationOrWait(
          call,
          {.comm = call->comm, .handle_at = a.new_comm, .caller = call->caller, .creation = {}},
          result);
    case Kind::kNcclInitAll:
      if (!Failed(result)) EndInitAll(a, call->caller);
      return;
    case Kind::kCreateComm: {
      const Creation creation{.operation = call->info->operation,
                              .parent = call->comm,
                              .parent_sequence = call->record.sequence};
      if (call->comm != nullptr) Increment(&call->comm->entry->completed);
      return FinishCreationOrWait(call,
                                  {.comm = nullptr,
                                   .handle_at = a.new_comm,
                                   .caller = call->caller,
                                   .creation = creation,
                                   .colour = a.color},
                                  result);
    }
    case Kind::kFreeComm:
      if (call->comm == nullptr || Failed(result)) return;
      RemoveAwaited(call->comm->uid);
      return UnregisterComm(call->comm);
    case Kind::kNonblocking:
    case Kind::kIsend:
    case Kind::kIrecv:
      return EndOperation(call, a, result);
    case Kind::kNcclGroupStart:
      if (!Failed(result)) {
        Group::Of(call->log).Start(call->log, CurrentCallPath(call->frame).id);
      }
      return;
    case Kind::kNcclGroupEnd:
      return EndGroup(call, result);
    case Kind::kNcclQuery:
      return EndQuestion(call, a, result);
    case Kind::kHostWait:
    case Kind::kHostQuery:
    case Kind::kHostRecordsEvent:
      return EndHostCall(*call, result);
    default:
      return;
  }
}

bool IsCuda(Kind kind) {
  return kind == Kind::kHostWait || kind == Kind::kHostQuery || kind == Kind::kHostRecordsEvent;
}

}  // namespace

void StartWith(const void* function, const void* caller) {
  // Tools do not wrap pncclGetVersion, so its address is in the library itself even if a tool
  // intercepts `function`.
  const void* home = g_version.Get(caller);
  SetNcclCode(home != nullptr ? home : function);
  Start();
}

void Begin(Call* call, Arguments* arguments) {
  if (IsCuda(call->info->kind) && !g_process.gpu) return;
  if (!calls::OpenBracket<false>(call)) return;
  arguments->stream = StreamNumber(*call->log, arguments->stream);
  BeginByKind(call, *arguments);
  calls::CloseBracket();
}

void End(Call* call, const Arguments& arguments, int result) {
  if (result == kInProgress) StopMarks("a communicator is non-blocking");
  // A CUDA error is returned to the program. It is no error of a recorded operation.
  const bool error = Failed(result) && !IsCuda(call->info->kind);
  if (!calls::ReopenBracket(call, error ? result : kSuccess)) return;
  EndByKind(call, arguments, result);
  calls::FinishCall(call);
}

}  // namespace rollcall::shim::nccl
