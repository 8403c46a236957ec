// SPDX-License-Identifier: Apache-2.0
// Begin and End of all calls that advance the counter of a communicator, window or file.
#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/data/call_data.h"

namespace rollcall::shim::calls {
namespace {

// Returns the communicator, window or file whose counter the call advances.
[[gnu::noinline]] Comm* CountedOn(const Library& library, Kind kind, const Arguments& a) {
  switch (kind) {
    case Kind::kDisconnect:
    case Kind::kFreeWindow:
      return FindComm(library, library.Load(a.handle_inout));
    case Kind::kWindow:
      return FindComm(library, a.window);
    case Kind::kCloseFile:
      return FindFile(*static_cast<const uint64_t*>(a.handle_inout));
    case Kind::kFile:
    case Kind::kFileNonblocking:
      return FindFile(a.file);
    default:
      return FindComm(library, a.comm);
  }
}

constexpr bool Frees(Kind kind) {
  return kind == Kind::kDisconnect || kind == Kind::kFreeWindow || kind == Kind::kCloseFile;
}

// Counts the call on its communicator.
ROLLCALL_INLINE void EnterFlight(Call* call, Comm* comm) {
  ring::Member* entry = comm->entry;
  call->record.sequence = NextSequence(comm);
  if (__builtin_expect(!g_process.multiple_threads, 1)) {
    StoreRelaxed(&entry->in_flight, uint64_t{1});
  } else if (__atomic_fetch_add(&entry->in_flight, 1, __ATOMIC_RELAXED) != 0) {
    call->record.flags |= ring::kConcurrent;
    __atomic_fetch_or(&entry->flags, ring::kSawConcurrency, __ATOMIC_RELAXED);
  }
  if (call->level != nullptr) call->level->comm = comm;
}

ROLLCALL_INLINE void LeaveFlight(Call* call, Comm* comm, bool completed) {
  ring::Member* entry = comm->entry;
  if (__builtin_expect(!g_process.multiple_threads, 1)) {
    StoreRelaxed(&entry->in_flight, uint64_t{0});
  } else {
    __atomic_fetch_sub(&entry->in_flight, 1, __ATOMIC_RELAXED);
  }
  if (call->level != nullptr) call->level->comm = nullptr;
  if (completed) Increment(&entry->completed);
}

void EnterRequest(Call* call, const Arguments& a) {
  Library* library = call->library;
  const uint64_t handle = library->Load(a.request);
  const uint32_t slot = AddRequest(library, handle, call->record, call->comm,
                                   {.persistent = call->info->kind == Kind::kPersistentCollective});
  if (__builtin_expect(g_process.data, 0)) data::EnterRequest(*call, a, slot, handle);
}

// Reads the result of a blocking collective. EnterRequest() is responsible for the other kinds.
ROLLCALL_COLD void EndData(const Call& call, const Arguments& a, int result) {
  if (result != 0) {
    data::FailCall(call);
  } else if (call.info->kind == Kind::kCollective) {
    data::EndCall(call, a);
  }
}

// Enters the request, communicator, window or file that the call created.
[[gnu::noinline]] void EnterResult(Call* call, const Arguments& a) {
  Library* library = call->library;
  const Kind kind = call->info->kind;
  Creation creation{.operation = call->info->operation,
                    .parent = call->comm,
                    .parent_sequence = call->record.sequence,
                    .call_path = call->record.call_path};
  switch (kind) {
    case Kind::kNonblocking:
    case Kind::kFileNonblocking:
    case Kind::kPersistentCollective:
      return EnterRequest(call, a);
    case Kind::kCreateCommNonblocking:
      AddRequest(library, library->Load(a.request), call->record, call->comm,
                 {.new_comm = a.new_comm});
      return;
    case Kind::kCreateComm:
      RegisterComm(library, library->Load(a.new_comm), creation);
      return;
    case Kind::kCreateIntercomm:
      creation.identity = Identity::kIntercomm;
      creation.tag = static_cast<uint64_t>(a.tag);
      RegisterComm(library, library->Load(a.new_comm), creation);
      return;
    case Kind::kSpawn:
      creation.identity = Identity::kUnshared;
      RegisterComm(library, library->Load(a.new_comm), creation);
      return;
    case Kind::kCreateWindow:
      RegisterDerived(library, library->Load(a.new_handle), ring::kIsWindow, nullptr, creation);
      return;
    case Kind::kOpenFile:
      RegisterDerived(library, *static_cast<const uint64_t*>(a.new_handle), ring::kIsFile, a.name,
                      creation);
      return;
    default:
      return;
  }
}

// The end of a call that failed, created or freed something, or has data that are read.
[[gnu::noinline]] void AfterUnusual(Call* call, const Arguments& a, int result) {
  const Kind kind = call->info->kind;
  if (Comm* comm = call->comm) {
    const bool rejected = result != 0 && WasRejected(*call, result);
    // Must precede LeaveFlight.
    if (rejected) ReleaseSequence(comm, call->record.sequence, call->hashes_before);
    LeaveFlight(call, comm, !rejected && !IsNonblockingCollective(kind));
    if (Frees(kind)) {
      if (result != 0 && g_process.multiple_threads) RestoreComm(comm);
      if (result == 0 && !g_process.multiple_threads) UnregisterComm(comm);
    }
  }
  if (__builtin_expect(g_process.data, 0)) EndData(*call, a, result);
  if (result == 0) EnterResult(call, a);
}

}  // namespace

static void Before(Group<CallGroup::kCollective>, Call* call, Arguments* arguments) {
  const Arguments& a = *arguments;
  const OperationInfo& info = *call->info;
  const bool plain = info.kind == Kind::kCollective;
  Comm* comm = plain ? FindComm(*call->library, a.comm) : CountedOn(*call->library, info.kind, a);
  call->comm = comm;
  StartRecord(call);
  ring::Record& record = call->record;
  if (comm != nullptr && comm->inter()) record.flags |= ring::kIntercomm;
  record.semantic_hash = info.hash_without_data;
  if (info.hash_without_data == 0) FillCollective(call, a);
  const InternedPath path = CurrentCallPath(call->frame);
  SetCallPath(&record, path);
  if (__builtin_expect(comm != nullptr, 1)) {
    EnterFlight(call, comm);
    call->hashes_before =
        Checkpoint(comm, record.sequence, record.semantic_hash, path.portable_hash);
  } else {
    MarkUnknownComm(call, a);
  }
  if (!plain && a.request != nullptr) record.request = NextRequestUid();
  if (!plain && info.kind == Kind::kCreateComm) {
    record.detail =
        static_cast<uint64_t>(static_cast<uint32_t>(a.color)) << 32 | static_cast<uint32_t>(a.key);
  }
  WriteRecord(call, ring::kCollectiveRing);
  if (comm == nullptr) return;
  if (!plain && Frees(info.kind) && g_process.multiple_threads) UnregisterComm(comm);
  if (__builtin_expect(g_process.data, 0)) data::BeginCall(call, a);
}

static void After(Group<CallGroup::kCollective>, Call* call, const Arguments& a, int result) {
  const bool plain = call->info->kind == Kind::kCollective;
  if (plain && result == 0 && call->comm != nullptr && !g_process.data) {
    LeaveFlight(call, call->comm, true);
  } else {
    AfterUnusual(call, a, result);
  }
}

}  // namespace rollcall::shim::calls

template void rollcall::shim::Begin<rollcall::CallGroup::kCollective>(Call*, Arguments*);
template void rollcall::shim::End<rollcall::CallGroup::kCollective>(Call*, const Arguments&, int);
