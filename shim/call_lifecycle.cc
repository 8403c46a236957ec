// SPDX-License-Identifier: Apache-2.0
// Calls that begin or end something: MPI, sessions, communicators whose creation has no sequence
// number, groups, datatypes and operations. Also local queries.
#include <algorithm>

#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/datatypes.h"
#include "shim/leftovers.h"

namespace rollcall::shim::calls {
namespace {

// The number of libraries between MPI_Init and MPI_Finalize, plus open sessions. At 0, MPI has
// ended in this process.
uint32_t g_open = 0;

void Open() {
  __atomic_fetch_add(&g_open, 1, __ATOMIC_RELAXED);
  SetPhase(ring::Phase::kRunning);
}

bool IsRecorded(Kind kind) { return kind != Kind::kNameComm && kind != Kind::kGetParent; }

uint64_t HashText(const char* text) {
  uint64_t length = 0;
  while (text != nullptr && text[length] != '\0') ++length;
  return HashBytes(text, length, 11);
}

bool FreesType(const Call& call) { return call.info->operation == Operation::kType_free; }

void FindHandle(Call* call, const Arguments& a) {
  const Library& library = *call->library;
  switch (call->info->kind) {
    case Kind::kFreeHandle:
      // The type is forgotten before the call, because another thread may get the handle at once,
      // and again after the call, because a delete callback may use the type. If the handle is used
      // again, whether freed or not, it is described again.
      call->handle = library.Load(a.handle_inout);
      call->freed = HandleFreed(library, call->handle);
      if (FreesType(*call)) UnregisterType(library, call->handle);
      break;
    case Kind::kMakeHandle:
    case Kind::kQuery:
      call->comm = FindComm(library, a.window != 0 ? a.window : a.comm);
      break;
    case Kind::kFreeComm:
      call->comm = FindComm(library, library.Load(a.handle_inout));
      break;
    case Kind::kNameComm:
      call->comm = FindComm(library, a.window != 0 ? a.window : a.comm);
      break;
    case Kind::kAbort:
    case Kind::kCreateGroup:
      call->comm = FindComm(library, a.comm);
      break;
    default:
      break;
  }
}

void OpenSession(Call* call, const Arguments& a) {
  RegisterSession(call->library, call->library->Load(a.new_handle));
  Open();
}

// Records the objects that the program has not freed. Call it after delete callbacks have run and
// before the phase is set to finalized: a reader that sees this phase must also see these records.
void WriteLeftovers(Call* call) {
  Leftover rows[kMaxLeftovers];
  RingWriter& ring = call->log->rings[ring::kCollectiveRing];
  // At most a quarter of the ring: a thread's ring may be small, and a verdict needs its last
  // collectives.
  const uint32_t count =
      TakeLeftovers(rows, static_cast<uint32_t>(std::min<uint64_t>(ring.slots() / 4, UINT32_MAX)));
  for (uint32_t i = 0; i < count; ++i) {
    ring::Record record{};
    record.operation = static_cast<uint16_t>(Operation::kLeftover);
    record.flags = rows[i].at_least ? ring::kCountsCut : 0;
    record.start_ticks = Ticks();
    record.prev_end_ticks = call->record.start_ticks;
    record.root_or_peer = ring::kNoPeer;
    record.tag = ring::kNoTag;
    record.call_path = rows[i].call_path;
    record.detail = rows[i].count;
    record.detail2 = static_cast<uint64_t>(rows[i].operation);
    ring.Append(record);
  }
}

void Close(Call* call) {
  if (__atomic_sub_fetch(&g_open, 1, __ATOMIC_RELAXED) != 0) return;
  WriteLeftovers(call);
  SetPhase(ring::Phase::kFinalized);
}

// In a program without MPI_COMM_WORLD, the end of the last session corresponds to MPI_Finalize. If
// the program opens another session afterwards, the phase does not change, but the records show the
// session.
void CloseSession(Call* call) {
  call->library->session = 0;
  Close(call);
}

}  // namespace

static void Before(Group<CallGroup::kLifecycle>, Call* call, Arguments* arguments) {
  const Arguments& a = *arguments;
  const Kind kind = call->info->kind;
  FindHandle(call, a);
  if (!IsRecorded(kind)) return;
  StartRecord(call);
  ring::Record& record = call->record;
  SetCallPath(&record, CurrentCallPath(call->frame));
  if (kind == Kind::kAbort) {
    record.detail = static_cast<uint32_t>(a.error_code);
    MarkExit(ring::ExitMark::kMpiAbort, a.error_code, record.call_path);
  }
  if (kind == Kind::kInit) SetFlavor(call->library->abi.flavor);
  if (kind == Kind::kCreateGroup) record.tag = a.tag;
  if (kind == Kind::kFinalize && LoadRelaxed(&g_open) <= 1) SetPhase(ring::Phase::kFinalizing);
  // A failed local call is recorded in the point-to-point ring, so that a loop of failing calls
  // does not overwrite the records of collectives.
  if (IsLocal(kind)) return PublishOpenCall(call, ring::kP2pRing);
  WriteRecord(call, ring::kCollectiveRing);
  if (kind == Kind::kFreeComm && call->comm != nullptr && g_process.multiple_threads) {
    UnregisterComm(call->comm);
  }
}

static void After(Group<CallGroup::kLifecycle>, Call* call, const Arguments& a, int result) {
  Library* library = call->library;
  Comm* comm = call->comm;
  const Kind kind = call->info->kind;
  if (kind == Kind::kFreeComm && comm != nullptr) {
    if (result != 0 && g_process.multiple_threads) RestoreComm(comm);
    if (result == 0 && !g_process.multiple_threads) UnregisterComm(comm);
  }
  if (FreesType(*call)) UnregisterType(*library, call->handle);
  if (kind == Kind::kFreeHandle && result != 0)
    UndoHandleFreed(*library, call->handle, call->freed);
  if (result != 0) return;
  Creation creation{.operation = call->info->operation,
                    .parent = comm,
                    .call_path = call->recorded ? call->record.call_path : 0};
  switch (kind) {
    case Kind::kInit:
      RegisterWorld(library);
      Open();
      break;
    case Kind::kFinalize:
      Close(call);
      break;
    case Kind::kMakeHandle:
      HandleCreated(*library, library->Load(a.new_handle), creation.operation, creation.call_path);
      break;
    case Kind::kSessionInit:
      OpenSession(call, a);
      break;
    case Kind::kSessionFinalize:
      CloseSession(call);
      break;
    case Kind::kNameComm:
      if (comm != nullptr && a.name != nullptr) NameComm(comm, a.name);
      break;
    case Kind::kCreateGroup:
      creation.identity = Identity::kGroup;
      creation.tag = static_cast<uint64_t>(a.tag);
      RegisterComm(library, library->Load(a.new_comm), creation);
      break;
    case Kind::kCreateFromGroup:
    case Kind::kIntercommFromGroups:
      creation.identity = Identity::kFromGroup;
      creation.tag = HashText(a.name);
      RegisterComm(library, library->Load(a.new_comm), creation);
      break;
    case Kind::kJoin:
    case Kind::kGetParent: {
      const uint64_t handle = library->Load(a.new_comm);
      creation.identity = Identity::kUnshared;
      if (FindComm(*library, handle) == nullptr) RegisterComm(library, handle, creation);
      break;
    }
    default:
      break;
  }
}

}  // namespace rollcall::shim::calls

template void rollcall::shim::Begin<rollcall::CallGroup::kLifecycle>(Call*, Arguments*);
template void rollcall::shim::End<rollcall::CallGroup::kLifecycle>(Call*, const Arguments&, int);
