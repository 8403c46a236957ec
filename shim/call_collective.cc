// SPDX-License-Identifier: Apache-2.0
// Begin and End of all calls that advance the counter of a communicator, window or file.
#include "shim/call.h"
#include "shim/call_paths.h"
#include "shim/data/call_data.h"
#include "shim/process.h"

namespace rollcall::shim::calls {
namespace {

// Returns the communicator, window or file whose counter the call advances.
Comm* CountedOn(const Library& library, Kind kind, const Arguments& a) {
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

void EnterFlight(Call* call) {
  Comm* comm = call->comm;
  if (g_process.multiple_threads) {
    if (__atomic_fetch_add(&comm->entry->in_flight, 1, __ATOMIC_RELAXED) != 0) {
      call->record.flags |= ring::kConcurrent;
      __atomic_fetch_or(&comm->entry->flags, ring::kSawConcurrency, __ATOMIC_RELAXED);
    }
  } else {
    StoreRelaxed(&comm->entry->in_flight, uint64_t{1});
  }
}

void LeaveFlight(Call* call) {
  Comm* comm = call->comm;
  if (g_process.multiple_threads) {
    __atomic_fetch_sub(&comm->entry->in_flight, 1, __ATOMIC_RELAXED);
  } else {
    StoreRelaxed(&comm->entry->in_flight, uint64_t{0});
  }
  if (t_block.depth - 1 < ring::kMaxNesting) call->log->open_comm[t_block.depth - 1] = nullptr;
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

}  // namespace

void BeginCollective(Call* call, const Arguments& a) {
  const Kind kind = call->info->kind;
  Comm* comm = call->comm = CountedOn(*call->library, kind, a);
  StartRecord(call);
  ring::Record& record = call->record;
  FillCollective(call, a);
  const InternedPath path = CurrentCallPath(call->frame);
  SetCallPath(&record, path);
  if (comm != nullptr) {
    record.sequence = NextSequence(comm);
    EnterFlight(call);
    call->hashes_before =
        Checkpoint(comm, record.sequence, record.semantic_hash, path.portable_hash);
  } else {
    MarkUnknownComm(call, a);
  }
  if (a.request != nullptr) record.request = NextRequestUid();
  if (kind == Kind::kCreateComm) {
    record.detail =
        static_cast<uint64_t>(static_cast<uint32_t>(a.color)) << 32 | static_cast<uint32_t>(a.key);
  }
  WriteRecord(call, ring::kCollectiveRing);
  if (comm == nullptr) return;
  if (t_block.depth - 1 < ring::kMaxNesting) call->log->open_comm[t_block.depth - 1] = comm;
  if (Frees(kind) && g_process.multiple_threads) UnregisterComm(comm);
  if (__builtin_expect(g_process.data, 0)) data::BeginCall(call, a);
}

void EndCollective(Call* call, const Arguments& a, int result) {
  const Kind kind = call->info->kind;
  if (Comm* comm = call->comm) {
    const bool rejected = __builtin_expect(result != 0, 0) && WasRejected(*call, result);
    // Must precede LeaveFlight.
    if (rejected) ReleaseSequence(comm, call->record.sequence, call->hashes_before);
    LeaveFlight(call);
    if (!rejected && !IsNonblockingCollective(kind)) Increment(&comm->entry->completed);
    if (Frees(kind)) {
      if (result != 0 && g_process.multiple_threads) RestoreComm(comm);
      if (result == 0 && !g_process.multiple_threads) UnregisterComm(comm);
    }
  }
  if (__builtin_expect(g_process.data, 0)) EndData(*call, a, result);
  const bool plain = kind == Kind::kCollective || kind == Kind::kWindow || kind == Kind::kFile;
  if (!plain && result == 0) EnterResult(call, a);
}

}  // namespace rollcall::shim::calls
